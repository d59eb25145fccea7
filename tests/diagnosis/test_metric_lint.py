"""Every counter that is asked for exists on its chip, by NVIDIA's own database, which needs no GPU."""

from __future__ import annotations

import pytest

from kernelevolve.diagnosis.metric_lint import CounterDatabase, find_database
from kernelevolve.diagnosis.metric_names import ALL_STALLS, CORE, chips, metric_set, metrics, names_on, set_names
from kernelevolve.diagnosis.profiler_passes import DEEP, EVERYTHING
from kernelevolve.errors import MachineError, UnknownNameError

needs_database = pytest.mark.skipif(find_database() is None, reason="needs pip install nvidia-cuda-cupti")
ALL = metrics(set_names())


@needs_database
@pytest.mark.parametrize(("isa", "chip"), sorted(chips().items()))
def test_every_name_exists_on_its_chip(isa: str, chip: str) -> None:
    with CounterDatabase(chip) as database:
        assert database.missing(list(names_on(isa, ALL).values())) == []


@needs_database
@pytest.mark.parametrize(("isa", "chip"), sorted(chips().items()))
def test_nothing_is_left_out_that_the_chip_has(isa: str, chip: str) -> None:
    absent = [name for name in ALL if name not in names_on(isa, ALL)]
    with CounterDatabase(chip) as database:
        assert [name for name in absent if database.has(name)] == []


@needs_database
def test_names_that_others_ask_for_and_that_do_not_exist_are_found_out() -> None:
    with CounterDatabase("GH100") as database:
        wrong = [
            "sm__inst_executed_pipe_fp32.avg.pct_of_peak_sustained_active",
            "smsp__warp_issue_stalled_memory_dependency_per_warp_active.pct",
        ]
        assert database.missing([*wrong, "launch__grid_size", "dram__bytes_read.sum"]) == wrong
        with pytest.raises(MachineError, match="has no counter"):
            database.n_passes(wrong)


@needs_database
def test_the_core_set_costs_one_pass_and_all_of_it_few() -> None:
    with CounterDatabase("GH100") as database:
        assert database.n_passes(metric_set(CORE)) == 1
        assert database.n_passes(metrics(DEEP)) <= 8
        assert database.n_passes(metrics(EVERYTHING)) <= 20


@needs_database
def test_a_chip_that_is_not_known_is_an_error() -> None:
    with pytest.raises(MachineError, match="XX999"):
        CounterDatabase("XX999")


def test_sets_hold_each_name_once_and_unknown_sets_are_refused() -> None:
    for name in set_names():
        assert len(set(metric_set(name))) == len(metric_set(name)) > 0
    assert set(metric_set("stalls")) <= set(metric_set(ALL_STALLS))
    with pytest.raises(UnknownNameError, match="core"):
        metric_set("cores")


def test_an_alias_is_asked_for_by_the_chips_name_and_told_by_ours() -> None:
    asked = names_on("sm_120", ("dram__bytes_read.sum", "sm__inst_executed_pipe_tensor_op_gmma.sum"))
    assert asked == {"dram__bytes_read.sum": "dram__bytes_op_read.sum"}
    assert names_on("sm_999", ("dram__bytes_read.sum",)) == {"dram__bytes_read.sum": "dram__bytes_read.sum"}
