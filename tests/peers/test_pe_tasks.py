"""What went wrong elsewhere between a problem as written and the problem that was judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from kernelevolve.errors import TaskError
from kernelevolve.evaluation.compare import compare
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.evaluation.tensors import tensor_bytes
from kernelevolve.model.verdict import Outcome, Stage, Verdict
from kernelevolve.tasks import load_task

ROOT = Path(__file__).parents[1]
CROSS_ENTROPY = """\
import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, predictions, targets):
        return torch.nn.functional.cross_entropy(predictions, targets)
def get_inputs():
    return [torch.rand(64, 10, dtype=torch.{dtype}), torch.randint(0, 10, (64,))]
"""


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_targets_stay_whole_numbers_whatever_the_precision(dtype: str, tmp_path: Path) -> None:
    """PE3: and the reference's own answer passes."""
    path = tmp_path / "cross_entropy.py"
    path.write_text(CROSS_ENTROPY.format(dtype=dtype))
    task = load_task(str(path))
    assert [(spec.name, spec.dtype) for spec in task.inputs] == [("predictions", dtype), ("targets", "int64")]
    module = TaskModule(task, tmp_path / "loaded")
    inputs = module.make_inputs({}, seed=1)
    assert (inputs["predictions"].dtype, inputs["targets"].dtype) == (getattr(torch, dtype), torch.int64)
    own, exact = module.honest(inputs, {}), module.expected(inputs, {})
    sizes = module.bind_sizes({}, inputs, exact)
    for spec in task.written:
        assert compare(spec, tensor_bytes(own[spec.name]), exact[spec.name], task.rule, sizes) is None


def changed(folder: Path, **replaced: str) -> Path:
    """The smallest task with words of its declaration replaced."""
    text = (ROOT / "hostile" / "row_scale" / "task.toml").read_text()
    for old, new in replaced.items():
        text = text.replace(old, new)
    folder.mkdir()
    (folder / "task.toml").write_text(text)
    (folder / "reference.py").write_text((ROOT / "hostile" / "row_scale" / "reference.py").read_text())
    return folder


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "fp8", "float8"])
def test_a_precision_that_cannot_be_judged_is_refused(dtype: str, tmp_path: Path) -> None:
    """PE8: never put aside in silence."""
    with pytest.raises(TaskError) as caught:
        load_task(str(changed(tmp_path / "task", float32=dtype)))
    assert "platforms.cpu.dtype: Input should be 'float64', 'float32'" in str(caught.value)


def test_a_label_that_the_reference_does_not_keep_is_a_fault(tmp_path: Path) -> None:
    """PE9: what is drawn and what comes out must have the dtypes that are declared."""
    task = load_task(str(changed(tmp_path / "task", float32="float64")))
    with pytest.raises(TaskError, match="as torch.float32, declared float64"):
        TaskModule(task, tmp_path / "loaded").make_inputs({"R": 3, "C": 4}, seed=1)


def test_what_was_never_checked_is_not_correct(tmp_path: Path) -> None:
    """PE12"""
    given = {"task_id": "t", "candidate_id": "c", "outcome": Outcome.CORRECT, "stage": Stage.CHECK}
    with pytest.raises(ValidationError, match="at least one compared call"):
        Verdict.model_validate({**given, "n_checks": 0})
    assert Verdict.model_validate({**given, "n_checks": 1}).correct
    folder = changed(tmp_path / "task")
    text = (folder / "task.toml").read_text()
    for bucket in ("shown", "search", "sealed"):
        lines = [f"shapes.{bucket} = []" if line.startswith(f"shapes.{bucket}") else line for line in text.splitlines()]
        (folder / "task.toml").write_text("\n".join(lines))
        with pytest.raises(TaskError, match=f"shapes.{bucket}"):
            load_task(str(folder))
