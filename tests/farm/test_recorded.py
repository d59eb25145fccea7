"""The farm that remembers: every job is judged once, whatever kills or faults come between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernelevolve.errors import JudgeError, MachineError, RecordError, UsageError
from kernelevolve.farm import make_farm
from kernelevolve.farm.fake import FakeFarm, fake_verdict
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.farm.recorded import RecordedFarm, job_key
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.verdict import Verdict
from kernelevolve.testing.farm_case import FarmCase
from kernelevolve.testing.samples import sample_candidate, sample_task

CORRECT = [number for number in range(60) if int(sample_candidate(number).id[:8], 16) % 100 >= 25]


class TestRecordedFarm(FarmCase):
    def make_farm(self, folder: Path) -> RecordedFarm:
        return RecordedFarm(table=folder / "new folder" / "table.jsonl", inner=FakeFarm())

    def job(self, number: int = 0) -> Job:
        return Job(task=sample_task(), candidate=sample_candidate(CORRECT[number]), secret="0123")


class TestRecordedFarmThatOnlyReads(TestRecordedFarm):
    """The whole suite again with every verdict out of the table; what is not in it is a failure of the machine."""

    def make_farm(self, folder: Path) -> RecordedFarm:
        table = folder / "table.jsonl"
        filling = RecordedFarm(table=table, inner=FakeFarm())
        for number in range(3):
            for level in ("check", "screen", "confirm", "sealed"):
                filling.submit(self.job(number).model_copy(update={"level": level})).result()
        filling.close()
        return RecordedFarm(table=table)

    def test_a_task_is_admitted_by_whatever_describes_it(self, farm: RecordedFarm) -> None:  # type: ignore[override]
        with pytest.raises(MachineError, match="never judged"):
            farm.admit(self.job())

    def test_what_is_not_in_the_table_is_the_machines_fault(self, farm: RecordedFarm) -> None:
        with pytest.raises(MachineError, match="never judged"):
            farm.submit(self.job(3))


class Counting(InlineFarm):
    def __init__(self, judge: Callable[[Job], Verdict] = fake_verdict) -> None:
        self.jobs: list[Job] = []
        self._judge = judge
        super().__init__(self._counted)

    def _counted(self, job: Job) -> Verdict:
        self.jobs.append(job)
        return self._judge(job)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table.jsonl"


def a_job(number: int = 0, **more: object) -> Job:
    fields: dict[str, object] = {"secret": "0123", **more}
    return Job.model_validate({"task": sample_task(), "candidate": sample_candidate(number), **fields})


def test_a_job_is_judged_once_over_all_runs(table: Path) -> None:
    first = Counting()
    farm = RecordedFarm(table=table, inner=first)
    one, two = farm.submit(a_job()), farm.submit(a_job(secret="another campaign's"))
    assert one.result() == two.result() == farm.submit(a_job()).result()
    assert (len(first.jobs), farm.n_judged) == (1, 1)
    farm.close()
    second = Counting()
    again = RecordedFarm(table=table, inner=second)
    assert again.submit(a_job()).result() == one.result()
    assert a_job() in again
    assert a_job(1) not in again
    assert second.jobs == []
    again.close()


@pytest.mark.parametrize(
    "other",
    [
        a_job(1),
        a_job(level="confirm"),
        a_job(baselines=("eager",)),
        a_job(n_threads=2),
        a_job(alpha=0.01),
        a_job(task=sample_task("treble")),
        a_job(user_baselines=(sample_candidate(7),)),
        a_job(limits=Limits(call_s=1.0)),
    ],
)
def test_whatever_may_change_a_verdict_makes_another_job(other: Job) -> None:
    assert job_key(other) != job_key(a_job())


def test_who_wrote_the_source_makes_no_other_job() -> None:
    job = a_job()
    origin = job.candidate.origin.model_copy(update={"intent": "another intent", "proposer": "another"})
    written = job.model_copy(update={"candidate": job.candidate.model_copy(update={"origin": origin})})
    assert job_key(written) == job_key(job)


@pytest.mark.parametrize("n_lost", [1, 40, 10_000_000])
def test_a_line_that_a_kill_cut_short_is_judged_again(table: Path, n_lost: int) -> None:
    """`n_lost` bytes of the last of three lines are missing, all but its first at the most."""
    farm = RecordedFarm(table=table, inner=Counting())
    verdicts = [farm.submit(a_job(number)).result() for number in range(3)]
    farm.close()
    text = table.read_bytes()
    start = text.rstrip(b"\n").rfind(b"\n") + 1
    table.write_bytes(text[: max(start + 1, len(text) - n_lost)])
    reading = RecordedFarm(table=table)
    assert [a_job(number) in reading for number in range(3)] == [True, True, False]
    inner = Counting()
    again = RecordedFarm(table=table, inner=inner)
    assert [again.submit(a_job(number)).result() for number in range(3)] == verdicts
    assert [job.candidate for job in inner.jobs] == [sample_candidate(2)]
    again.close()
    assert table.read_bytes() == text


def test_a_failure_of_the_machine_is_not_kept(table: Path) -> None:
    def broken(job: Job) -> Verdict:
        raise JudgeError("the judge died")

    farm = RecordedFarm(table=table, inner=Counting(broken))
    ticket = farm.submit(a_job())
    for _ in range(2):
        with pytest.raises(JudgeError):
            ticket.result()
    farm.close()
    assert table.read_bytes() == b""
    mended = RecordedFarm(table=table, inner=FakeFarm())
    assert mended.submit(a_job()).result() == fake_verdict(a_job())
    mended.close()


def test_a_failed_job_handed_in_again_is_judged_anew(table: Path) -> None:
    """The campaign repeats a job after a failure of the machine by handing it in once more."""
    faults = [JudgeError("once")]

    def judge(job: Job) -> Verdict:
        if faults:
            raise faults.pop()
        return fake_verdict(job)

    farm = RecordedFarm(table=table, inner=Counting(judge))
    with pytest.raises(JudgeError, match="once"):
        farm.submit(a_job()).result()
    assert farm.submit(a_job()).result() == fake_verdict(a_job())
    farm.close()


def test_two_processes_do_not_append_to_one_table(table: Path) -> None:
    farm = RecordedFarm(table=table, inner=FakeFarm())
    with pytest.raises(MachineError, match="another process"):
        RecordedFarm(table=table, inner=FakeFarm())
    farm.close()
    RecordedFarm(table=table, inner=FakeFarm()).close()


@pytest.mark.parametrize("text", [b"{}\n", b"no json\n", b"\xff\xfe\n", b'{"key": "a", "verdict": {}}\n'])
def test_a_file_that_is_no_table_is_not_touched(table: Path, text: bytes) -> None:
    table.write_bytes(text)
    with pytest.raises(RecordError, match="table.jsonl:1"):
        RecordedFarm(table=table, inner=FakeFarm())
    with pytest.raises(RecordError, match="table.jsonl:1"):
        RecordedFarm(table=table)
    assert table.read_bytes() == text


@pytest.mark.parametrize("text", [b"a page\nwithout a last line end", b"one line without an end"])
def test_a_file_that_is_no_table_is_not_shortened(table: Path, text: bytes) -> None:
    table.write_bytes(text)
    with pytest.raises(RecordError):
        RecordedFarm(table=table, inner=FakeFarm())
    assert table.read_bytes() == text


def test_a_verdict_after_the_end_is_not_kept(table: Path) -> None:
    farm = RecordedFarm(table=table, inner=FakeFarm())
    ticket = farm.submit(a_job())
    farm.close()
    with pytest.raises(MachineError, match="too late"):
        ticket.result()


def test_the_table_of_farms_makes_one(table: Path, tmp_path: Path) -> None:
    make_farm("recorded", table=table, cache_dir=tmp_path).close()
    make_farm("recorded", table=table).close()
    with pytest.raises(UsageError, match="table"):
        make_farm("recorded")
