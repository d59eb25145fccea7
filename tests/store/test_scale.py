"""Lists and trees of large campaigns: how many statements, how long, and by which index."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator

import pytest
from private_server import url_of
from sqlalchemy import event, insert, text

from kernelevolve.model.verdict import Outcome
from kernelevolve.store.base import NodeRow
from kernelevolve.store.postgres import PostgresStore
from kernelevolve.store.rows import node_values
from kernelevolve.store.schema import NodeTable
from kernelevolve.store.sql import SqlStore
from kernelevolve.store.sqlite import SqliteStore
from kernelevolve.testing.samples import sample_opened

N_NODES = 100_000
WITHIN_S = 0.2


def made_up(n: int) -> Iterator[NodeRow]:
    """Two of three are measured; a third of all are children of step 1, the others of any earlier step."""
    draw = random.Random(0)
    for step in range(1, n + 1):
        low = draw.uniform(0.5, 3.0) if step % 3 else None
        parent = 1 if step % 3 == 1 else draw.randrange(1, max(2, step))
        yield NodeRow(
            step=step, candidate_id=f"{step:064x}", operator="mutate", parents=() if step == 1 else (parent,),
            outcome=Outcome.CORRECT if low else Outcome.WRONG, speedup=low, low=low, high=low,
            score=math.log(low) if low else None, language="cpp", recipe="r", born=2 * step - 1, judged_at=2 * step,
        )  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SqlStore, str]:
    folder = tmp_path_factory.mktemp("large")
    store: SqlStore
    if request.param == "sqlite":
        store = SqliteStore(folder)
    else:
        store = PostgresStore(url_of(request.getfixturevalue("postgres_url"), folder))
    campaign = store.open_campaign(sample_opened())
    rows = [{"campaign": 1, **node_values(row)} for row in made_up(N_NODES)]
    with store._transaction(write=True) as connection:
        connection.execute(insert(NodeTable), rows)
    with store._transaction(write=True) as connection:
        connection.execute(text("ANALYZE"))
    return store, campaign


QUESTIONS: dict[str, Callable[[SqlStore, str], object]] = {
    "best": lambda store, campaign: store.nodes(campaign, best_first=True, limit=50),
    "page": lambda store, campaign: store.nodes(campaign, start=90_000, limit=100),
    "lineage": lambda store, campaign: store.lineage(campaign, N_NODES),
    "tree window": lambda store, campaign: store.children(campaign, [0, 1, *range(2, 60)], limit=5),
    "best as of the middle": lambda store, campaign: store.nodes(campaign, best_first=True, limit=50, as_of=N_NODES),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_large_campaign_answers_at_once(large: tuple[SqlStore, str], question: str) -> None:
    """PS37: 100 k nodes, each answer within 200 ms and three statements. Time is the processor's, so that other work on
    the machine changes nothing; of a server it leaves out the server's, whose plans the next test looks at."""
    store, campaign = large
    statements: list[str] = []
    event.listen(store._engine, "before_cursor_execute", lambda *seen: statements.append(seen[2]))
    times_s = []
    for _ in range(3):
        started = time.process_time()
        assert QUESTIONS[question](store, campaign)
        times_s.append(time.process_time() - started)
    assert min(times_s) < WITHIN_S
    assert sum("FROM" in statement for statement in statements) <= 3 * 3


def test_the_best_nodes_and_the_best_children_come_from_an_index(large: tuple[SqlStore, str]) -> None:
    store, campaign = large
    rows = list(made_up(N_NODES))
    ranked = sorted((row for row in rows if row.score is not None), key=lambda row: (-(row.score or 0), row.step))
    assert store.nodes(campaign, best_first=True, limit=20) == ranked[:20]
    middle = [row for row in ranked if (row.judged_at or 0) < N_NODES]
    assert store.nodes(campaign, best_first=True, limit=20, as_of=N_NODES) == middle[:20]
    below = [row for row in ranked if row.parent == 1]
    found = store.children(campaign, [1], limit=20)[1]
    assert found.rows == tuple(below[:20])
    assert found.n_total == sum(row.parent == 1 for row in rows)
    explain = "EXPLAIN " if isinstance(store, PostgresStore) else "EXPLAIN QUERY PLAN "
    with store._transaction() as connection:
        plan = connection.exec_driver_sql(
            f"{explain}SELECT * FROM node WHERE campaign = 1 AND score IS NOT NULL ORDER BY score DESC, step LIMIT 20"
        ).all()
    assert "ix_node_campaign_score_judged_at" in str(plan)
