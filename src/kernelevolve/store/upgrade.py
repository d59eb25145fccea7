"""Bring a database to the schema of this version, or refuse it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from kernelevolve.errors import RecordError
from kernelevolve.store.schema import HEAD, VERSION_TABLE

MIGRATIONS = Path(__file__).with_name("migrations")


def schema_version(connection: Connection) -> str | None:
    """The revision the database is at, None for one without our tables."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    return None if version is None else str(version)


def refuse_newer(version: str | None, where: str) -> None:
    if version is not None and version > HEAD:
        raise RecordError(
            f"{where} was written by a newer kernelevolve (schema {version}, this version knows {HEAD}): "
            f"upgrade kernelevolve or use another store"
        )


def upgrade(connection: Connection, get_blob: Callable[[str], bytes | None] | None = None) -> None:
    """Run the missing migrations. The caller holds the transaction, so a failure leaves the database as it was.
    `get_blob` reads what old events refer to, None for what is gone."""
    from alembic import command  # slow to import and needed only when the schema is behind
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["get_blob"] = get_blob
    command.upgrade(config, "head")
