from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from kernelevolve.errors import MachineError, RecordError, UsageError
from kernelevolve.store.filesystem import refuse_network_folder
from kernelevolve.store.schema import HEAD, VERSION_TABLE, Base
from kernelevolve.store.sqlite import FILE_NAME, SqliteStore
from kernelevolve.store.upgrade import MIGRATIONS, schema_version, upgrade
from kernelevolve.testing.samples import sample_candidate, sample_judged, sample_opened, sample_proposed


def raw(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / FILE_NAME, isolation_level=None)


def one_candidate(folder: Path) -> str:
    store = SqliteStore(folder)
    campaign = store.open_campaign(sample_opened())
    store.append(campaign, [sample_proposed(1), sample_judged(1)])
    return campaign


def test_models_equal_the_migrated_schema(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'empty.db'}")
    with engine.begin() as connection:
        upgrade(connection)
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
        assert schema_version(connection) == HEAD
        assert not connection.dialect.has_table(connection, "alembic_version")
        assert _constraints(connection) == _constraints_of_models(tmp_path)
    engine.dispose()


def _constraints(connection: Connection) -> list[tuple[str, ...]]:
    found = []
    for table in ("campaign", "event", "node", "blob", "campaign_lease"):
        for index in connection.exec_driver_sql(f"PRAGMA index_list({table})").all():
            columns = connection.exec_driver_sql(f"PRAGMA index_info('{index[1]}')").all()
            found.append((table, str(index[2]), *(column[2] for column in columns)))
    return sorted(found)


def _constraints_of_models(folder: Path) -> list[tuple[str, ...]]:
    engine = create_engine(f"sqlite:///{folder / 'models.db'}")
    with engine.begin() as connection:
        Base.metadata.create_all(connection)
        found = _constraints(connection)
    engine.dispose()
    return found


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_a_failed_migration_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    tmp_path.joinpath(FILE_NAME).touch()
    connection = raw(tmp_path)
    connection.execute("CREATE TABLE node (something TEXT)")  # the third table the migration would make
    with pytest.raises(MachineError, match="node"):
        SqliteStore(tmp_path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    connection.close()
    assert tables == ["node"]


def test_a_newer_schema_is_refused_in_one_line(tmp_path: Path) -> None:
    one_candidate(tmp_path)
    connection = raw(tmp_path)
    connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    connection.close()
    with pytest.raises(RecordError, match="newer kernelevolve") as caught:
        SqliteStore(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    tmp_path.joinpath(FILE_NAME).write_text("hello, this is not a database" * 50)
    with pytest.raises((RecordError, MachineError), match="not a database"):
        SqliteStore(tmp_path)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE event SET body = '{}'", "DELETE FROM event", "UPDATE blob SET data = x'00'", "DELETE FROM blob"],
)
def test_the_file_itself_refuses_to_change_the_past(tmp_path: Path, statement: str) -> None:
    one_candidate(tmp_path)
    connection = raw(tmp_path)
    connection.execute("INSERT INTO blob VALUES ('name', x'01')")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()


def test_sources_are_kept_once_and_outside_the_rows(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    campaign = store.open_campaign(sample_opened())
    big = sample_candidate(text="// long\n" * 10_000)
    for step in (1, 2):
        store.append(campaign, [sample_proposed(step, candidate=big)])
    connection = raw(tmp_path)
    assert connection.execute("SELECT max(length(body)) FROM event").fetchone()[0] < 2_000
    connection.close()
    blobs = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
    assert len(blobs) == 2  # the task and the one candidate
    assert all(len(path.parent.name) == 2 and len(path.name) == 62 for path in blobs)
    assert [event.candidate for event in store.read(campaign)[1:]] == [big, big]  # type: ignore[union-attr]


def test_a_damaged_blob_is_noticed(tmp_path: Path) -> None:
    campaign = one_candidate(tmp_path)
    for path in (tmp_path / "blobs").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"candidate 1", b"candidate 9"))
    with pytest.raises(RecordError, match="damaged"):
        SqliteStore(tmp_path).read(campaign)


def test_secrets_are_private(tmp_path: Path) -> None:
    campaign = one_candidate(tmp_path)
    store = SqliteStore(tmp_path)
    secret = store.secret(campaign)
    assert len(secret) == 64
    assert all(secret not in event.to_json() for event in store.read(campaign))
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_writes_ahead_and_syncs(tmp_path: Path) -> None:
    one_candidate(tmp_path)
    connection = raw(tmp_path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_ids_come_from_the_time_and_the_random_source(tmp_path: Path) -> None:
    def make(folder: str) -> list[str]:
        count = iter(range(1, 100))
        store = SqliteStore(tmp_path / folder, random_bytes=lambda n: bytes([next(count)]) * n)
        return [store.open_campaign(sample_opened()) for _ in range(3)]

    assert make("a") == make("b")
    assert len(set(make("c"))) == 3


MOUNTS = (
    "/dev/sda1 / ext4 rw 0 0\nserver:/x /mnt/my\\040share nfs4 rw 0 0\n/dev/sdb /mnt/my\\040share/local xfs rw 0 0\n"
)


def test_network_folders_are_refused(tmp_path: Path) -> None:
    """PS32"""
    with pytest.raises(UsageError, match=r"network file system \(nfs4 at /mnt/my share\)"):
        refuse_network_folder(Path("/mnt/my share/store"), MOUNTS)
    refuse_network_folder(Path("/mnt/my share/local/store"), MOUNTS)
    refuse_network_folder(Path("/mnt/my share2"), MOUNTS)
    refuse_network_folder(tmp_path)
