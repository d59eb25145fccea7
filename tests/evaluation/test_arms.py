"""What a task brings along to be compared with computes the same as its reference, where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import TaskError
from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.tasks import load_task

WITH_ARMS = ("conv1d", "gated_delta_packed_decode")


def with_arms(task: Task, text: str) -> Task:
    return task.model_copy(update={"files": (*task.files, SourceFile(path="baselines.py", text=text))})


@pytest.mark.parametrize("name", WITH_ARMS)
def test_shipped_arms_agree_with_the_reference(name: str, tmp_path: Path) -> None:
    module = TaskModule(load_task(name, platform="cpu"), tmp_path)
    assert module.arms
    shape = module.task.shapes.shown[0]
    inputs = module.make_inputs(shape, seed=1)
    for arm in module.arms.values():
        try:
            found = arm(**inputs)
        except ImportError:
            continue
        wanted = module.reference(**module.make_inputs(shape, seed=1))
        assert (found.double() - wanted.double()).abs().max() < 1e-3


def test_an_arm_is_one_of_the_baselines_and_one_that_cannot_run_is_left_out(row_scale: Task, cache: Path) -> None:
    text = (
        "def twice(x, w):\n    return x * w + 1\n\n\n"
        "def absent(x, w):\n    import nobody_has_this\n\n\n"
        "ARMS = {'twice': twice, 'absent': absent}\n"
    )
    bench = Bench(with_arms(row_scale, text), n_threads=1, cache=cache)
    bench.use("secret")
    assert bench.arms(("eager",)) == ("eager", "twice", "absent")
    shape = row_scale.shapes.shown[0]
    assert bench.baseline("twice", shape, "screen") is not None
    assert bench.baseline("absent", shape, "screen") is None
    assert "nobody_has_this" in bench.baseline_notes["absent"]
    bench.close()


def test_arms_that_are_no_functions_are_a_fault_of_the_task(row_scale: Task, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="functions by name"):
        TaskModule(with_arms(row_scale, "ARMS = {'a': 1}\n"), tmp_path)
