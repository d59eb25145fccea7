"""Alembic migrations: a file per released change of the tables."""
