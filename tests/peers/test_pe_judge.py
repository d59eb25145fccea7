"""What went wrong elsewhere between a kernel and its verdict, put to our judge in real processes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.evaluation.evaluate import Evaluation
from kernelevolve.evaluation.lane import Lane
from kernelevolve.farm.process import ProcessFarm
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task, TensorSpec
from kernelevolve.model.verdict import Comparison, Outcome, ShapeTiming, Verdict
from kernelevolve.selftest.corpus import default_root
from kernelevolve.tasks import load_task
from tests.peers.judged import RIGHT, SIGNATURE, cpp, job, preparation, python

FAULTS = {
    "an illegal access": ("*(volatile int*)8 = 1;", Outcome.CRASHED),
    "an endless loop": ("for (volatile int i = 0;; ++i) {}", Outcome.TIMEOUT),
    "an abort": ("abort();", Outcome.CRASHED),
}


@pytest.fixture(scope="module")
def farm(cache: Path, row_scale: Task) -> Iterator[ProcessFarm]:
    farm = ProcessFarm(n_threads=1, cache_dir=cache)
    farm.prepare(preparation(row_scale))
    yield farm
    farm.close()


def judged(farm: ProcessFarm, task: Task, candidate: Candidate, level: str = "check") -> Verdict:
    return farm.submit(job(task, candidate, level=level)).result()


@pytest.mark.slow
def test_who_zeroes_its_inputs_is_told_so(farm: ProcessFarm, row_scale: Task) -> None:
    """PE5"""
    body = "memset(const_cast<float*>(x), 0, R * C * 4); memset(y, 0, R * C * 4);"
    verdict = judged(farm, row_scale, cpp(body, head="#include <cstring>"))
    assert verdict.outcome is Outcome.INPUT_CHANGED
    assert "x" in verdict.message


@pytest.mark.slow
def test_a_norm_that_copies_its_input_is_wrong(farm: ProcessFarm) -> None:
    """PE6: weights are not ones and zeros, and inputs are not always of mean 0 and deviation 1."""
    task = load_task(str(default_root() / "attacks" / "tasks" / "affine_norm"))
    names = ", ".join([*(spec.name for spec in task.inputs), *(spec.name for spec in task.outputs)])
    axes = "".join(f", {axis.name}" for axis in task.axes)
    source = f"def {task.entry}({names}{axes}):\n    {task.outputs[0].name}.copy_({task.inputs[0].name})\n"
    assert judged(farm, task, python(source)).outcome is Outcome.WRONG


@pytest.mark.slow
@pytest.mark.parametrize("body", ["", "return 0;", 'printf("all tests passed\\n");'])
def test_silence_is_no_pass(farm: ProcessFarm, row_scale: Task, body: str) -> None:
    """PE11: answers are read from memory, not from what is printed, and unwritten memory is none."""
    assert judged(farm, row_scale, cpp(body, head="#include <cstdio>")).outcome is Outcome.UNWRITTEN


def two_outputs(task: Task, second: str) -> Task:
    """y as ever, and z with the dims `second`, empty or not."""
    text = task.files[0].text.replace("return x * w + 1", f"return x * w + 1, x.new_ones({second})")
    z = TensorSpec(name="z", dtype="float32", dims=tuple(second.replace("'", "").split(",")))
    return task.model_copy(
        update={"outputs": (*task.outputs, z), "files": (SourceFile(path="reference.py", text=text),)}
    )


@pytest.mark.slow
def test_every_output_counts(farm: ProcessFarm, row_scale: Task) -> None:
    """PE15: a second output that nobody wrote is no answer; an empty one needs none."""
    signature = SIGNATURE.replace("float* y,", "float* y, float* z,")
    one = cpp(RIGHT)
    files = tuple(file.model_copy(update={"text": file.text.replace(SIGNATURE, signature)}) for file in one.files)
    only_first = one.model_copy(update={"files": files})
    assert judged(farm, two_outputs(row_scale, "4"), only_first).outcome is Outcome.UNWRITTEN
    assert judged(farm, two_outputs(row_scale, "0"), only_first).outcome is Outcome.CORRECT


@pytest.mark.slow
@pytest.mark.parametrize("where", ["y[R * C + c]", "y[-1 - c]"])
def test_one_row_too_many_is_found_though_the_answer_is_right(farm: ProcessFarm, row_scale: Task, where: str) -> None:
    """PE17"""
    body = f"{RIGHT}\nfor (int64_t c = 0; c < C; ++c) {where} = 1.0f;"
    assert judged(farm, row_scale, cpp(body)).outcome is Outcome.OUT_OF_BOUNDS


@pytest.mark.slow
def test_work_that_ends_after_the_return_is_not_there(farm: ProcessFarm, row_scale: Task) -> None:
    """PE27, PE29: between the return and the comparison the process stands still."""
    body = f"std::thread([=] {{ usleep(20000); {RIGHT} }}).detach();"
    verdict = judged(farm, row_scale, cpp(body, head="#include <thread>\n#include <unistd.h>"))
    assert verdict.outcome in (Outcome.UNWRITTEN, Outcome.WRONG)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_the_next_ones_neither_in_verdict_nor_in_time(
    farm: ProcessFarm, row_scale: Task, name: str
) -> None:  # fmt: skip
    """PE47, PE48: no job goes missing, and what a hanging kernel costs is its own limit."""
    body, outcome = FAULTS[name]
    good = judged(farm, row_scale, cpp(f"// before {name}\n{RIGHT}"))
    assert good.correct
    tickets = [farm.submit(job(row_scale, one)) for one in (cpp(body, head="#include <cstdlib>"), cpp(RIGHT))]
    started = time.monotonic()
    assert tickets[0].result().outcome is outcome
    assert time.monotonic() - started < 2.0 + 8.0
    after = tickets[1].result()
    assert after.correct
    assert sum(report.seconds for report in after.stages) < 5
    assert farm.n_started == 1


@pytest.mark.timing
@pytest.mark.slow
def test_four_copies_at_once_are_timed_one_after_the_other(farm: ProcessFarm, row_scale: Task) -> None:
    """PE30"""
    copies = [cpp(f"// copy {number}\n{RIGHT}") for number in range(4)]
    tickets = [farm.submit(job(row_scale, copy, level="screen")) for copy in copies]
    timings = [ticket.result().timing for ticket in tickets]
    found = [timing for timing in timings if timing is not None]
    assert len(found) == 4
    assert max(one.low for one in found) <= min(one.high for one in found) * 1.15


def timed(latency_us: float, baseline_us: float) -> ShapeTiming:
    comparison = Comparison(
        baseline="eager", baseline_us=baseline_us, candidate_us=latency_us, speedup=baseline_us / latency_us,
        low=1.0, high=9.0, log_ratios=(0.0,),
    )  # fmt: skip
    return ShapeTiming(shape={}, latency_us=latency_us, bytes_moved=150_000_000, comparisons=(comparison,))


def test_what_no_memory_can_deliver_is_an_audit_and_not_a_record(
    cache: Path, facts: PlatformFacts, row_scale: Task
) -> None:  # fmt: skip
    """PE36: 150 MB through a cache of 150 GB/s take a millisecond; half of it, with a margin, is not believed. Where
    the reference is as fast as that, it is the count of bytes that is wrong."""
    measured = facts.model_copy(update={"nearest_copy_gb_per_s": 150.0})
    evaluation = Evaluation(
        job(row_scale, cpp(RIGHT)), None, facts=measured, cache=cache, lane=Lane()  # type: ignore[arg-type]
    )  # fmt: skip
    assert evaluation._impossible(timed(500.0, 2000.0))
    assert not evaluation._impossible(timed(900.0, 2000.0))
    assert not evaluation._impossible(timed(500.0, 600.0))
