"""Cheats and honest kernels that fooled judges elsewhere, as entries of our corpus before our judge.

A few of each kind; `kernelevolve selftest` judges all of them, at every level.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.farm.process import ProcessFarm
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Verdict
from kernelevolve.selftest.corpus import Entry, default_root, read_entry
from kernelevolve.selftest.judging import LIMITS
from kernelevolve.tasks import load_task

ROOT = default_root()
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def farm(cache: Path) -> Iterator[ProcessFarm]:
    farm = ProcessFarm(n_threads=1, cache_dir=cache)
    yield farm
    farm.close()


def judged(farm: ProcessFarm, entry: Entry, level: str) -> Verdict:
    given = {"task": load_task(str(entry.task_folder)), "candidate": entry.candidate(), "secret": "peers"}
    return farm.submit(
        Job.model_validate({**given, "level": level, "baselines": ("eager",), "limits": LIMITS})
    ).result()  # fmt: skip


def assert_caught(farm: ProcessFarm, name: str, *, level: str = "check") -> None:
    entry = read_entry(ROOT / "attacks" / name / "attack.toml")
    verdict = judged(farm, entry, level)
    assert verdict.outcome.value in entry.caught, verdict.message


def assert_accepted(farm: ProcessFarm, name: str) -> None:
    verdict = judged(farm, read_entry(ROOT / "honest" / name / "honest.toml"), "check")
    assert verdict.correct, verdict.message


def assert_gains_nothing(farm: ProcessFarm, name: str) -> None:
    """Right, and by the judge's clock about as fast as the reference, whatever it does to other clocks."""
    verdict = judged(farm, read_entry(ROOT / "attacks" / name / "attack.toml"), "screen")
    assert verdict.timing is not None, verdict.message
    assert verdict.timing.low < 2.0


def test_one_buffer_for_all_results(farm: ProcessFarm) -> None:
    """PE14: results are written into memory of ours, a new place for each call; what is returned is not taken."""
    assert_caught(farm, "C3_static_buffer")


def test_what_is_remembered_by_address(farm: ProcessFarm) -> None:
    """PE18"""
    assert_caught(farm, "T5_pointer_replay")


def test_one_call_that_serves_the_others(farm: ProcessFarm) -> None:
    """PE20"""
    assert_caught(farm, "T12_super_batch", level="screen")


def test_work_done_once_and_repeated(farm: ProcessFarm) -> None:
    """PE21: whatever was recorded in the first call, each later one has content of its own and is compared."""
    assert_caught(farm, "T13_recorded_calls", level="screen")


def test_right_while_it_is_looked_at(farm: ProcessFarm) -> None:
    """PE23: timed calls are compared like all others."""
    assert_caught(farm, "C22_three_good_calls", level="screen")


@pytest.mark.parametrize("name", ["T22_perf_counter", "T23_mean"])
def test_patched_clocks_and_statistics(farm: ProcessFarm, name: str) -> None:
    """PE24: the clock and the arithmetic are in another process; what is patched changes nothing."""
    assert_gains_nothing(farm, name)


def test_two_algorithms_chosen_by_the_data(farm: ProcessFarm) -> None:
    """PE38"""
    assert_accepted(farm, "F9_time_by_content")


def test_nothing_to_see_on_the_stack(farm: ProcessFarm) -> None:
    """PE39: a checked call and a timed call look alike from inside, so skipping work in one is skipping it in both."""
    assert_gains_nothing(farm, "C23_frame_locals")


@pytest.mark.parametrize(
    "name", ["H2_exit_at_import", "H2_exit_in_call", "H1_descriptor_scan_native", "H3_stdout_spoof_native"]
)
def test_no_verdict_is_a_failure(farm: ProcessFarm, name: str) -> None:
    """PE41: neither a good exit code nor a forged result counts for anything."""
    assert_caught(farm, name)


@pytest.mark.parametrize("name", ["C26_gc_lists", "T26_proc_mem", "H6_answer_scan"])
def test_no_answer_is_in_its_process(farm: ProcessFarm, name: str) -> None:
    """PE42"""
    assert_caught(farm, name)


def test_a_library_behind_a_wrapper(farm: ProcessFarm) -> None:
    """PE44: a kernel has none of the machine's libraries to forward to."""
    assert_caught(farm, "S5_library_in_process")


@pytest.mark.parametrize("name", ["F1_stream_in_comment", "F5_unlucky_names", "F7_try_except"])
def test_words_are_no_evidence(farm: ProcessFarm, name: str) -> None:
    """PE45"""
    assert_accepted(farm, name)
