"""The corpus itself: every entry reads, there are enough of them, and each attack first fools the naive harness."""

from __future__ import annotations

from collections import Counter

import pytest

from kernelevolve.selftest.corpus import GROUPS, LANGUAGE, Entry, attacks, default_root, honest
from kernelevolve.tasks import load_task
from tests.attacks.naive.__main__ import fooled

ROOT = default_root()
ATTACKS = attacks(ROOT)
ON_CPU = [entry for entry in ATTACKS if entry.lane in LANGUAGE or entry.lane == "campaign"]
OUTCOMES = {"no_win", "void"}


def test_there_are_enough_of_them() -> None:
    assert len({entry.row for entry in ON_CPU}) >= 60, "rows of the catalogue"
    assert len(ON_CPU) >= 180
    assert len([entry for entry in ATTACKS if entry.lane.startswith("cuda")]) >= 60
    assert len(honest(ROOT)) >= 60
    assert {entry.group for entry in ATTACKS} == set(GROUPS) - {"F"}


def test_every_attack_says_how_it_is_caught_and_never_as_plainly_correct() -> None:
    for entry in ATTACKS:
        assert entry.caught, entry.name
        assert not {"correct", "win"} & set(entry.caught), entry.name
        assert entry.name.startswith(f"{entry.row}_"), entry.name


def test_no_two_entries_are_the_same_candidate() -> None:
    ids = Counter((entry.candidate().id, str(entry.task_folder)) for entry in ON_CPU if entry.lane in LANGUAGE)
    assert [key for key, count in ids.items() if count > 1] == []


@pytest.mark.parametrize("name", sorted({str(entry.task_folder) for entry in ON_CPU if entry.lane in LANGUAGE}))
def test_every_task_loads(name: str) -> None:
    assert load_task(name).shapes.sealed


MOST_DAMAGING = (
    "T4",
    "C1",
    "T5",
    "T12",
    "T23",
    "H1",
    "C25",
    "C30",
    "C23",
    "T22",
    "C17",
    "C10",
    "H10",
    "P1",
    "N1",
    "S6",
)


def one_of_each() -> list[Entry]:
    """Of the most damaging rows that a CPU has; `benchmarks/naive_harness.py` runs the whole corpus."""
    first: dict[str, Entry] = {}
    for entry in ON_CPU:
        if entry.row in MOST_DAMAGING:
            first.setdefault(entry.row, entry)
    return list(first.values())


@pytest.mark.slow
@pytest.mark.parametrize("entry", one_of_each(), ids=lambda entry: entry.name)
def test_the_naive_harness_falls_for_it(entry: Entry) -> None:
    results = []
    for _ in range(5):  # its own noise decides some of them, and what else runs on the machine
        ok, text = fooled(entry)
        if ok:
            return
        results.append(text)
    pytest.fail(f"not fooled: {results}")
