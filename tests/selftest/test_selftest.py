"""The self-test itself: it counts rightly, and it fails when the judge does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelevolve.errors import MachineError, RecordError, UsageError
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.interfaces.cli.main import main
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Outcome, Stage, Verdict
from kernelevolve.selftest.campaigns import RULES, Noise, wins
from kernelevolve.selftest.corpus import attacks, corpus_root, default_root, honest, read_entry
from kernelevolve.selftest.run import part, selftest

ROOT = default_root()


def says(outcome: Outcome) -> InlineFarm:
    """A judge that always says the same."""

    def evaluate(job: Job) -> Verdict:
        return Verdict(
            task_id=job.task.content_id, candidate_id=job.candidate.id, outcome=outcome, stage=Stage.CHECK, n_checks=1
        )

    return InlineFarm(evaluate)


def some(entries: list, lane: str) -> list:  # type: ignore[type-arg]
    return [entry for entry in entries if entry.lane == lane and "no_win" not in entry.caught][:4]


def test_a_judge_that_lets_everything_through_fails_every_attack() -> None:
    found = some(attacks(ROOT), "library")
    report = selftest(found, some(honest(ROOT), "library"), says(Outcome.CORRECT), secret="s", n_threads=1)
    assert report.count(honest=False) == (0, 4)
    assert report.count(honest=True) == (4, 4)
    assert not report.ok


def test_a_judge_that_refuses_everything_fails_every_honest_kernel() -> None:
    report = selftest([], some(honest(ROOT), "library"), says(Outcome.WRONG), secret="s", n_threads=1)
    assert report.count(honest=True) == (0, 4)
    assert not report.ok


def test_being_caught_for_another_reason_does_not_count() -> None:
    chosen = [entry for entry in attacks(ROOT) if entry.caught == ("wrong",) and entry.lane == "library"][:3]
    assert chosen
    report = selftest(chosen, [], says(Outcome.TIMEOUT), secret="s", n_threads=1)
    assert report.count(honest=False) == (0, len(chosen))


@pytest.mark.parametrize("entry", [e for e in attacks(ROOT) if e.lane == "campaign"], ids=lambda entry: entry.name)
def test_chance_does_not_win_and_each_rule_is_needed(entry: object) -> None:
    noise = Noise.model_validate(entry.noise)  # type: ignore[attr-defined]
    assert sum(wins(noise, seed=seed) for seed in range(6)) <= 1


@pytest.mark.parametrize(
    ("rule", "attack"),
    [
        ("remeasure", "N1_best_of_many"),
        ("fresh_process", "N1_lucky_process"),
        ("minimum_claim", "N7_micro_gain"),
        ("most_shapes", "N9_one_shape_carries"),
        ("alpha_ledger", "N10_until_it_wins"),
    ],
)
def test_without_its_rule_an_attack_gets_through(rule: str, attack: str) -> None:
    assert rule in RULES
    noise = Noise.model_validate(read_entry(ROOT / "attacks" / attack / "attack.toml").noise)
    with_rule = sum(wins(noise, seed=seed) for seed in range(12))
    without = sum(wins(noise, seed=seed, without=frozenset({rule})) for seed in range(12))
    assert without >= with_rule + 2


def test_the_command_prints_one_object_and_its_exit_code_is_the_gate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--only", "N", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == "kernelevolve.selftest/1"
    assert all(item["right"] for item in report["found"])
    assert len(report["found"]) >= 8


def test_what_could_not_be_judged_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    """A gate that nothing went through is not open."""

    class Busy:
        def submit(self, job: Job) -> None:
            raise MachineError("quarantined")

    chosen, slept = some(attacks(ROOT), "library")[:1], []  # type: ignore[var-annotated]
    report = selftest(chosen, [], Busy(), secret="s", n_threads=1, sleep=slept.append)  # type: ignore[arg-type]
    assert len(slept) >= 3, "it has patience first"
    assert report.undecided == {chosen[0].name: "quarantined"}
    assert report.found == ()
    assert main(["selftest", "--only", "no_entry_is_called_this"]) == 4


@pytest.mark.parametrize(("n_late", "right"), [(0, True), (1, True), (2, False)])
def test_a_timeout_that_nobody_expects_is_looked_at_once_more(n_late: int, right: bool) -> None:
    asked: list[Job] = []

    def evaluate(job: Job) -> Verdict:
        asked.append(job)
        outcome = Outcome.TIMEOUT if len(asked) <= n_late else Outcome.WRONG
        return Verdict(
            task_id=job.task.content_id, candidate_id=job.candidate.id, outcome=outcome, stage=Stage.CHECK, n_checks=1
        )

    chosen = next(one for one in attacks(ROOT) if one.lane == "library" and one.caught == ("wrong",))
    report = selftest([chosen], [], InlineFarm(evaluate), secret="s", n_threads=1)
    assert [one.right for one in report.found] == [right]
    assert len(asked) == 1 + min(n_late, 1)


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_parts_are_together_the_whole_and_keep_tasks_together(of: int) -> None:
    entries = attacks(ROOT)
    parts = [part(entries, number, of) for number in range(1, of + 1)]
    assert sorted(one.name for some_ in parts for one in some_) == sorted(one.name for one in entries)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    in_parts = [len({str(one.task_folder) for one in some_}) for some_ in parts]
    assert sum(in_parts) <= len({str(one.task_folder) for one in entries}) + of - 1


def test_a_part_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("3/2", "0/2", "2", "a/b"):
        assert main(["selftest", "--part", word]) == 2
        assert "the second of three parts" in capsys.readouterr().err


def test_faults_of_the_corpus_say_where(tmp_path: Path) -> None:
    file = tmp_path / "attack.toml"
    file.write_text('row = "Z9"\ntitle = "x"\nlane = "library"\n')
    with pytest.raises(RecordError, match="attack.toml: row"):
        read_entry(file)
    with pytest.raises(UsageError, match="no corpus"):
        corpus_root(tmp_path)
