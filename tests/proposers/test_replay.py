from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import RecordError, UnknownNameError, UsageError
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Proposer
from kernelevolve.testing.proposer_case import ProposerCase, sample_attempt, sample_brief
from kernelevolve.testing.samples import sample_task


def recorded(number: int) -> Candidate:
    origin = Origin(proposer="someone", intent=f"number {number}")
    return Candidate(language="cpp", files=(SourceFile(path="a.cpp", text=f"// {number}\n"),), origin=origin)


def write(folder: Path, n_candidates: int) -> Path:
    path = folder / "list.jsonl"
    path.write_text("".join(recorded(number).to_json() + "\n" for number in range(n_candidates)))
    return path


class TestReplayProposer(ProposerCase):
    def make_proposer(self, folder: Path) -> Proposer:
        return make_proposer(f"replay:{write(folder, 20)}")


def test_offers_the_lines_in_order_from_where_the_history_ends(tmp_path: Path) -> None:
    proposer = make_proposer(f"replay:{write(tmp_path, 4)}")
    history = tuple(sample_attempt(step, recorded(step - 1)) for step in (1, 2, 3))
    assert proposer.propose(sample_brief(sample_task(), n_wanted=2)) == [recorded(0), recorded(1)]
    assert proposer.propose(sample_brief(sample_task(), n_wanted=2, history=history)) == [recorded(3)]
    assert proposer.propose(sample_brief(sample_task(), history=(*history, sample_attempt(4, recorded(3))))) == []


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, 1)
    path.write_text(path.read_text() + "\n{}\n")
    with pytest.raises(RecordError, match=r"list.jsonl:3: not a valid Candidate"):
        make_proposer(f"replay:{path}")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("replay", UsageError, "needs a file"),
        ("fake:x", UsageError, "takes nothing"),
        ("replay:nowhere.jsonl", UsageError, "cannot read"),
        ("oracle", UnknownNameError, "builtin, command, fake, mix"),
    ],
)
def test_wrong_names_say_what_is_wrong(name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_proposer(name)
