"""The compiled baseline is at its best: it is not compiled anew for each content, and its sizes stay exact."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters

from kernelevolve.evaluation.device import HostDevice
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.draws import joint_layout, make_draw
from kernelevolve.evaluation.reference import BaselineFailed, ReferenceServer
from kernelevolve.evaluation.reference_server import compiled
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.task import Task
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


def test_the_outside_clock_of_a_baseline(row_scale: Task, tmp_path: Path) -> None:
    """A call, the empty round trip, and a failure: it answers afterwards as it did before."""
    draw = make_draw(TaskModule(row_scale, tmp_path), {"R": 8, "C": 16}, secret="s", label="n", variant="nominal")
    layout = joint_layout([draw])
    arena = DeviceArena(2 * layout.n_bytes, HostDevice())
    arena.prepare(0, layout, draw.contents, draw.outputs(row_scale))
    server = ReferenceServer(task=row_scale, arena=arena, n_threads=1, cache=tmp_path)
    looks: list[int] = []
    try:
        server.bind({0: draw.arguments(row_scale, layout, 0)}, timeout_s=20.0)
        server.ready([0], timeout_s=20.0)
        for slots in ([0], [], [0]):
            window = server.outside(slots, timeout_s=20.0, look=lambda: looks.append(1))
            assert window.reply.startswith(f"D {len(slots)} 0")
            assert 0 < window.seconds < 1.0
        assert 3 <= len(looks) <= 6
        with pytest.raises(BaselineFailed, match="KeyError"):
            server.outside([1], timeout_s=20.0, look=lambda: None)
        assert server.run([0], timeout_s=20.0).reply.startswith("D 1 0")
    finally:
        server.close()
        arena.close()
