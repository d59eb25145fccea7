"""Every task that is shipped can be judged: small and odd shapes exist, and a stateful one can be rolled out."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.draws import small_shapes
from kernelevolve.tasks import builtin_names, load_task


@pytest.mark.parametrize("name", builtin_names())
def test_small_shapes_and_rollouts(name: str, cache: Path) -> None:
    task = load_task(name, platform="cpu")
    bench = Bench(task, n_threads=1, cache=cache)
    bench.use("secret")
    shapes = small_shapes(bench.exam.module)
    assert shapes, "nothing but the listed shapes would be checked"
    listed = [*task.shapes.shown, *task.shapes.search, *task.shapes.sealed]
    assert any(shape not in listed for shape in shapes)
    assert len(bench.exam.rolled()) == (len(bench.exam.module.variants) if task.rollout else 0)
    bench.close()
