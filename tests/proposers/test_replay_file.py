"""Files of recorded proposals: what is read, in which order it is offered, what a tree makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.errors import ProposerError, RecordError
from kernelevolve.model.brief import Memory, Move, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.model.verdict import Outcome
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Proposer
from kernelevolve.proposers.replay_file import Entry, Header, Recorded, read_replay, replay_text
from kernelevolve.testing.proposer_case import ProposerCase, sample_attempt, sample_brief
from kernelevolve.testing.samples import sample_task

TASK = sample_task()
SHIPPED = Path(__file__).parents[2] / "docs" / "replays"
HEADER = Header(
    task=TASK.name, task_id=TASK.content_id, entry=TASK.entry, platform="cpu", campaign="double-1", proposer="someone",
    policy="greedy", opened="2026-01-02T03:04:05+00:00",
)  # fmt: skip


def recorded(number: int, text: str = "") -> Candidate:
    origin = Origin(proposer="someone", intent=f"number {number}")
    return Candidate(language="cpp", files=(SourceFile(path="a.cpp", text=text or f"// {number}\n"),), origin=origin)


def entry(step: int, *parents: int) -> Entry:
    operator = (Operator.DRAFT, Operator.MUTATE, Operator.CROSS)[len(parents)]
    return Entry(
        candidate=recorded(step), step=step, move=Move(operator=operator, parents=parents, memory=Memory.BOTH),
        recorded=Recorded(outcome=Outcome.CORRECT, speedup=1.5, low=1.4, high=1.6),
    )  # fmt: skip


def write(folder: Path, *entries: Entry, header: Header = HEADER) -> Path:
    path = folder / "recorded.jsonl"
    path.write_text(replay_text(header, entries), encoding="utf-8")
    return path


FAMILY = (entry(1), entry(2), entry(3, 1), entry(4, 2), entry(5, 1), entry(6, 3, 4), entry(7))


class TestRecordedReplay(ProposerCase):
    def make_proposer(self, folder: Path) -> Proposer:
        return make_proposer(f"replay:{write(folder, *map(entry, range(1, 40)))}")


class TestReplayTree(ProposerCase):
    def make_proposer(self, folder: Path) -> Proposer:
        return make_proposer(f"replay_tree:{write(folder, *FAMILY, *(entry(step, 7) for step in range(8, 40)))}")


def test_the_place_is_what_was_offered_those_in_work_included(tmp_path: Path) -> None:
    proposer = make_proposer(f"replay:{write(tmp_path, *FAMILY)}")
    brief = sample_brief(TASK, n_wanted=2, history=(sample_attempt(1, recorded(1)),))
    assert proposer.propose(brief) == [recorded(2), recorded(3)]
    in_work = brief.model_copy(update={"in_flight": (recorded(2), recorded(3)), "n_proposed": 3})
    assert proposer.propose(in_work) == [recorded(4), recorded(5)]


def test_what_is_in_the_file_twice_is_offered_once(tmp_path: Path) -> None:
    again = entry(1).model_copy(update={"step": 2})
    proposer = make_proposer(f"replay:{write(tmp_path, entry(1), again, entry(3))}")
    assert proposer.propose(sample_brief(TASK, n_wanted=9)) == [recorded(1), recorded(3)]


@pytest.mark.parametrize(
    ("parents", "offered"),
    [((), [1, 2, 7]), ((1,), [3, 5]), ((2,), [4]), ((3, 4), [6]), ((4, 3), [6]), ((2, 1), [4, 3, 5])],
)
def test_a_tree_offers_what_was_made_of_the_parents_that_were_picked(
    parents: tuple[int, ...], offered: list[int], tmp_path: Path
) -> None:
    proposer = make_proposer(f"replay_tree:{write(tmp_path, *FAMILY)}")
    operator = (Operator.DRAFT, Operator.MUTATE, Operator.CROSS)[len(parents)]
    attempts = tuple(sample_attempt(step, recorded(step)) for step in parents)
    brief = sample_brief(TASK, operator=operator, parents=attempts, n_wanted=len(offered))
    assert proposer.propose(brief) == [recorded(step) for step in offered]
    everything = proposer.propose(brief.model_copy(update={"n_wanted": 99}))
    assert sorted(item.id for item in everything) == sorted(item.candidate.id for item in FAMILY)


def test_a_file_of_another_task_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, *FAMILY, header=HEADER.model_copy(update={"entry": "triple", "task": "triple"}))
    with pytest.raises(ProposerError, match="recorded for triple on cpu, the task is double on cpu"):
        make_proposer(f"replay:{path}").propose(sample_brief(TASK))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"replay": 2}', "recorded.jsonl:1: not a valid Header: replay"),
        ('{"candidate": {}}', "recorded.jsonl:1: not a valid Entry: candidate.language"),
        ("[" * 100_000, "recorded.jsonl:1: not a valid Candidate"),
        ("nonsense", "recorded.jsonl:1: not a valid Candidate"),
    ],
)
def test_a_bad_line_is_named(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "recorded.jsonl").write_text(line + "\n")
    with pytest.raises(RecordError, match=message):
        make_proposer(f"replay:{tmp_path / 'recorded.jsonl'}")


@given(st.lists(st.text(min_size=1), max_size=5))
def test_any_text_survives_a_file(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    usable = [text for text in texts if text.isprintable() or not any(0xD800 <= ord(c) <= 0xDFFF for c in text)]
    entries = tuple(Entry(candidate=recorded(n, text)) for n, text in enumerate(usable))
    path = write(tmp_path_factory.mktemp("replay"), *entries)
    replay = read_replay(path)
    assert (replay.header, replay.entries) == (HEADER, entries)


def test_every_shipped_recording_can_be_read_and_is_explained() -> None:
    page = (SHIPPED / "README.md").read_text()
    paths = sorted(SHIPPED.glob("*.jsonl"))
    assert paths
    for path in paths:
        replay = read_replay(path)
        assert replay.header is not None
        assert replay.entries
        assert f"[{path.name}]({path.name})" in page
