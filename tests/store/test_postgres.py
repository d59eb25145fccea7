"""Against a real server (see private_server.py)."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from private_server import url_of

from kernelevolve.errors import ClaimError, MachineError, RecordError, UsageError
from kernelevolve.model.candidate import Origin
from kernelevolve.store import open_store
from kernelevolve.store.base import Store
from kernelevolve.store.postgres import PostgresStore
from kernelevolve.store.schema import HEAD, VERSION_TABLE, Base
from kernelevolve.store.upgrade import schema_version
from kernelevolve.testing.samples import sample_candidate, sample_judged, sample_opened, sample_proposed
from kernelevolve.testing.store_case import Clock, StoreCase


class TestPostgresStore(StoreCase):
    @pytest.fixture(autouse=True)
    def _server(self, postgres_url: str) -> None:
        self.url = postgres_url

    def make_store(self, folder: Path, clock: Clock | None = None) -> Store:
        return PostgresStore(url_of(self.url, folder), clock=clock)


@pytest.fixture
def url(postgres_url: str, tmp_path: Path) -> str:
    return url_of(postgres_url, tmp_path)


def one_candidate(store: Store) -> str:
    campaign = store.open_campaign(sample_opened())
    store.append(campaign, [sample_proposed(1), sample_judged(1)])
    return campaign


def _open(url: str, gate: Any, number: int, sender: Any) -> None:
    gate.wait()
    sender.send((number, len(PostgresStore(url).campaigns())))


def test_an_address_opens_this_store(url: str) -> None:
    store = open_store(url)
    assert isinstance(store, PostgresStore)
    campaign = one_candidate(store)
    assert open_store(Path(url)).read(campaign) == store.read(campaign)


def test_models_equal_the_migrated_schema(url: str) -> None:
    store = PostgresStore(url)
    with store._transaction() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
        assert schema_version(connection) == HEAD


def test_many_hosts_may_open_an_empty_database_at_once(url: str) -> None:
    fork = multiprocessing.get_context("fork")
    gate, (receiver, sender) = fork.Event(), fork.Pipe(duplex=False)
    workers = [fork.Process(target=_open, args=(url, gate, number, sender)) for number in range(6)]
    for worker in workers:
        worker.start()
    gate.set()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 6
    assert sorted(receiver.recv() for _ in workers) == [(number, 0) for number in range(6)]


@pytest.mark.parametrize(
    "statement",
    ["UPDATE event SET body = '{}'", "DELETE FROM event", "TRUNCATE event CASCADE", "UPDATE blob SET data = ''",
     "DELETE FROM blob", "TRUNCATE blob"],
)  # fmt: skip
def test_the_database_itself_refuses_to_change_the_past(url: str, statement: str) -> None:
    one_candidate(PostgresStore(url))
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        connection.execute(statement)  # type: ignore[call-overload]


def test_a_newer_schema_is_refused_in_one_line(url: str) -> None:
    PostgresStore(url)
    with psycopg.connect(url) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    with pytest.raises(RecordError, match="newer kernelevolve") as caught:
        PostgresStore(url)
    assert "\n" not in str(caught.value)


def test_shares_a_database_with_another_alembic(url: str) -> None:
    """PS38: the version table is our own."""
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.execute("INSERT INTO alembic_version VALUES ('theirs')")
    one_candidate(PostgresStore(url))
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("theirs",)]


def test_blobs_are_for_all_hosts(url: str) -> None:
    here, there = PostgresStore(url), PostgresStore(url)
    name = here.put_blob(b"\x00\xff")
    assert there.get_blob(name) == b"\x00\xff"
    assert there.put_blob(b"\x00\xff") == name
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE blob DISABLE TRIGGER ALL")
        connection.execute("UPDATE blob SET data = 'x'")
    with pytest.raises(RecordError, match="damaged"):
        there.get_blob(name)


def test_text_that_the_database_cannot_hold_comes_back_all_the_same(url: str) -> None:
    store = PostgresStore(url)
    campaign = store.open_campaign(sample_opened())
    odd = sample_candidate(1).model_copy(update={"origin": Origin(proposer="p", recipe="a\0b", intent="\0 é 💥")})
    store.append(campaign, [sample_proposed(1, candidate=odd)])
    assert store.read(campaign)[1].candidate == odd  # type: ignore[union-attr]
    assert store.nodes(campaign)[0].recipe == "ab"


def test_a_server_that_is_not_there_is_named_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        open_store(f"postgresql://me:hunter2@/db?host={tmp_path}")
    assert str(tmp_path) in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="not the address") as bad:
        open_store("postgresql://me:hunter2@host:port/db")
    assert "hunter2" not in str(bad.value)


def test_by_the_servers_clock_a_claim_ends_for_everyone(url: str) -> None:
    store, other = PostgresStore(url), PostgresStore(url)
    campaign = one_candidate(store)
    assert store.claim(campaign, "host-a:1", lease_s=0.2) == 1
    with pytest.raises(ClaimError, match="host-a:1"):
        other.claim(campaign, "host-b:1")
    time.sleep(0.3)
    assert other.claim(campaign, "host-b:1") == 2
