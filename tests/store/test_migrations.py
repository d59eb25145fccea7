"""Files written by every released schema open in this version, and nothing is lost when that fails.

`schema_0001` was written by the code of schema 0001: `finished` holds one event of each kind it knew, `searching` has
questions, a chain of three steps and the last of them not judged.
"""

from __future__ import annotations

import shutil
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kernelevolve.errors import MachineError
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Answered, Asked, Event
from kernelevolve.store.base import Store
from kernelevolve.store.memory import MemoryStore
from kernelevolve.store.schema import HEAD, VERSION_TABLE
from kernelevolve.store.sqlite import FILE_NAME, SqliteStore
from kernelevolve.testing.campaign_samples import whole_campaign
from kernelevolve.testing.samples import sample_judged, sample_opened, sample_proposed

RELEASED = ["0001"]
HERE = Path(__file__).parent


def searching() -> list[Event]:
    return [
        Asked(ask=1, move=Move(operator=Operator.DRAFT), seq=1, elapsed_s=0.5),
        Answered(ask=1, n_candidates=1, elapsed_s=0.7),
        sample_proposed(1).model_copy(update={"ask": 1}), sample_judged(1, speedup=2.0),
        sample_proposed(2, move=Move(operator=Operator.MUTATE, parents=(1,))), sample_judged(2, speedup=3.0),
        sample_proposed(3, move=Move(operator=Operator.MUTATE, parents=(2,))),
    ]  # fmt: skip


@pytest.fixture(params=RELEASED)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return shutil.copytree(HERE / f"schema_{request.param}", tmp_path / "old")


def version_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()[0])


def fresh() -> tuple[Store, dict[str, str]]:
    """The same campaigns in a store that never had another schema."""
    store = MemoryStore()
    ids = {name: store.open_campaign(sample_opened(name=name)) for name in ("finished", "searching")}
    store.append(ids["finished"], whole_campaign())
    store.append(ids["searching"], searching())
    return store, ids


def test_an_old_file_says_what_a_new_one_would(old: Path) -> None:
    """PS38."""
    store, (other, ids) = SqliteStore(old), fresh()
    for row, expected in zip(store.campaigns(), other.campaigns(), strict=True):
        assert replace(row, id=expected.id) == expected
        assert store.read(row.id) == other.read(expected.id)
        assert store.nodes(row.id) == other.nodes(expected.id)
    campaign = store.resolve("searching")
    assert [node.step for node in store.lineage(campaign, 3)] == [1, 2, 3]
    assert store.nodes(campaign, best_first=True, as_of=5) == other.nodes(ids["searching"], best_first=True, as_of=5)
    store.append(campaign, [sample_judged(3)])
    assert store.claim(campaign, "host:1") == 1


def test_a_copy_is_kept_before_anything_changes(old: Path) -> None:
    """PS38."""
    was = version_of(old / FILE_NAME)
    SqliteStore(old)
    assert version_of(old / FILE_NAME) == HEAD
    (copy,) = [path for path in old.iterdir() if "before" in path.name]
    assert version_of(copy) == was
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM event").fetchone() == (17,)
    kept = copy.read_bytes()
    SqliteStore(old)
    assert [path for path in old.iterdir() if "before" in path.name] == [copy]
    assert copy.read_bytes() == kept


def test_without_a_copy_there_is_no_migration(old: Path) -> None:
    was = version_of(old / FILE_NAME)
    (old / f"{FILE_NAME}.before-{HEAD}-was-{was}.partial").mkdir()  # something that cannot be written over
    with pytest.raises(MachineError, match="nothing was done"):
        SqliteStore(old)
    assert version_of(old / FILE_NAME) == was


def test_a_failed_migration_leaves_the_old_schema(old: Path) -> None:
    was = version_of(old / FILE_NAME)
    with closing(sqlite3.connect(old / FILE_NAME)) as connection:
        connection.execute("CREATE TABLE campaign_lease (something TEXT)")
        connection.commit()
    with pytest.raises(MachineError, match="campaign_lease"):
        SqliteStore(old)
    assert version_of(old / FILE_NAME) == was
    with closing(sqlite3.connect(old / FILE_NAME)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(node)")]
        assert "score" not in columns
        connection.execute("DROP TABLE campaign_lease")
        connection.commit()
    assert len(SqliteStore(old).campaigns()) == 2


def test_a_lost_blob_does_not_keep_a_store_closed(old: Path) -> None:
    for path in (old / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()
    store = SqliteStore(old)
    campaign = store.resolve("searching")
    assert [(node.language, node.recipe, node.ask) for node in store.nodes(campaign)] == [
        ("", "", 1), ("", "", None), ("", "", None),
    ]  # fmt: skip
    assert [node.step for node in store.nodes(campaign, best_first=True)] == [2, 1]
    assert store.campaigns()[0].family == ""


def test_a_new_folder_needs_no_copy(tmp_path: Path) -> None:
    """PS38: an empty database is a case of its own."""
    SqliteStore(tmp_path)
    assert not [path for path in tmp_path.iterdir() if "before" in path.name]
    (tmp_path / "touched").mkdir()
    (tmp_path / "touched" / FILE_NAME).touch()
    SqliteStore(tmp_path / "touched")
    assert version_of(tmp_path / "touched" / FILE_NAME) == HEAD


def test_every_released_schema_has_its_file() -> None:
    known = sorted(
        path.name[1:5] for path in (HERE.parents[1] / "src/kernelevolve/store/migrations/versions").glob("v0*")
    )
    assert known == [*RELEASED, HEAD]
    assert all((HERE / f"schema_{version}" / FILE_NAME).exists() for version in RELEASED)
