"""Loaded by Alembic, never imported. The connection comes from `kernelevolve.store.upgrade`."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from kernelevolve.store.schema import VERSION_TABLE, Base


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=Base.metadata, version_table=VERSION_TABLE)
    context.run_migrations()


if __name__ == "env_py":  # the module name under which Alembic loads this file
    migrate(context.config.attributes["connection"])
