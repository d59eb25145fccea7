"""The compiled baseline is at its best: it is not compiled anew for each content, and its sizes stay exact."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters

from kernelevolve.evaluation.reference_server import compiled
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.tasks import load_task

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.mark.slow
def test_a_scalar_that_changes_is_compiled_for_once_and_each_shape_exactly(tmp_path: Path) -> None:
    task = load_task(str(EXAMPLES / "leaky_gate"))
    module = TaskModule(task, tmp_path)
    counters.clear()
    for n_shapes, shape in enumerate(({"R": 12, "C": 40}, {"R": 9, "C": 31}), 1):
        function = compiled(module.reference, task, tag=f"test_{shape['R']}")
        for seed in range(6):
            inputs = module.make_inputs(shape, seed=seed)
            with torch.no_grad():
                got = function(**inputs)
            torch.testing.assert_close(got, module.reference(**inputs))
        assert counters["stats"]["unique_graphs"] <= 2 * n_shapes, "one for the first value, one for any other"
        assert counters["recompile_limit"] == {}
