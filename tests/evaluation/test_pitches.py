"""Tensors whose rows lie further apart than they are long: what the judge makes of them, and of who gets them wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.draws import Draw, make_draw
from kernelevolve.evaluation.judge import Judge
from kernelevolve.evaluation.pitches import Gaps, padded
from kernelevolve.evaluation.python_arguments import ArgumentPlan, tensor_at
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.evaluation.tensors import as_tensor, elements, gaps, tensor_bytes
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job, Limits
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import FLOAT_DTYPES, Shape, SourceFile, Task, TensorSpec, fits_pitch
from kernelevolve.model.verdict import Outcome, Verdict
from kernelevolve.tasks import load_task

ROOT = Path(__file__).parents[1]
TASK = ROOT / "attacks" / "tasks" / "pool_decay"
HONEST = (ROOT / "honest" / "F25_rows_apart" / "kernel.cpp").read_text()
SHAPE: Shape = {"R": 5, "C": 7}


@pytest.fixture(scope="module")
def pool_decay() -> Task:
    return load_task(str(TASK))


@pytest.fixture(scope="module")
def module(pool_decay: Task, tmp_path_factory: pytest.TempPathFactory) -> TaskModule:
    return TaskModule(pool_decay, tmp_path_factory.mktemp("task"))


@pytest.fixture(scope="module")
def judge(cache: Path, facts: PlatformFacts) -> Iterator[Judge]:
    judge = Judge(cache=cache, facts=facts)
    yield judge
    judge.close()


def judged(judge: Judge, task: Task, source: str, *, language: str = "cpp", level: str = "check") -> Verdict:
    name = "pool_decay.cpp" if language == "cpp" else "pool_decay.py"
    candidate = Candidate(
        language=language, files=(SourceFile(path=name, text=source),), origin=Origin(proposer="tests")
    )  # fmt: skip
    return judge.verdict(
        Job.model_validate(
            {"task": task, "candidate": candidate, "level": level, "secret": "s/1", "n_threads": 1,
             "baselines": ("eager",), "limits": Limits(call_s=2.0)}
        )
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "bool"])
@given(shape=st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple), gap=st.integers(0, 9), seed=st.integers(0))
def test_rows_come_back_from_a_buffer_as_they_went_in(
    dtype: str, shape: tuple[int, ...], gap: int, seed: int
) -> None:  # fmt: skip
    kind, n = getattr(torch, dtype), math.prod(shape)
    values = (torch.arange(n).reshape(shape) % (2 if dtype == "bool" else 100)).to(kind)
    row = math.prod(shape[1:])
    spec = TensorSpec(name="t", dtype=dtype, dims=("N",) * len(shape))  # type: ignore[arg-type]
    held = padded(values, spec, row + gap, seed=seed)
    assert held.nbytes == shape[0] * (row + gap) * values.element_size()
    view = as_tensor(held, dtype, shape)
    assert torch.equal(view, values)
    assert bytes(elements(held, dtype, shape)) == bytes(tensor_bytes(values))
    assert gaps(held, dtype, shape).size == gap * shape[0] * values.element_size()
    if not gap or not n:
        return
    assert view.stride() == (row + gap, *values.stride()[1:])
    if dtype in FLOAT_DTYPES:
        assert torch.from_numpy(np.ascontiguousarray(gaps(held, dtype, shape))).view(kind).isnan().all()
    view.fill_(1)
    assert torch.equal(as_tensor(held, dtype, shape), torch.ones_like(values)), "a view, not a copy"


def test_what_a_python_side_gets_lies_as_far_apart(pool_decay: Task) -> None:
    argument = next(one for one in ArgumentPlan.of(pool_decay).arguments_ if one.name == "state")
    memory = np.zeros(4096, dtype=np.uint8)
    state = tensor_at(memory, 64, argument, {"R": 3, "C": 5, "SP": 8, "XP": 5})
    assert (state.shape, state.stride()) == ((3, 5), (8, 1))
    state.fill_(1.0)
    assert memory[64 : 64 + 96].view(np.float32).reshape(3, 8).sum(1).tolist() == [5.0] * 3


def test_a_pitch_is_the_rows_length_or_what_the_axis_admits(pool_decay: Task) -> None:
    axis = pool_decay.axis("SP")
    assert [pitch for pitch in range(20) if fits_pitch(axis, 7, pitch)] == [7, 8, 12, 16]
    assert fits_pitch(axis, 8, 8)
    assert not fits_pitch(axis, axis.high + 1, axis.high + 1)


def drawn(module: TaskModule, index: int, *, always: bool = False) -> Draw:
    gaps = Gaps(seed=str(index), always=always)
    return make_draw(module, SHAPE, secret="s", label="nominal", variant="nominal", gaps=gaps)


def test_gaps_are_of_many_sizes_and_the_same_again(module: TaskModule) -> None:
    found = [drawn(module, index) for index in range(64)]
    for draw in found:
        assert fits_pitch(module.task.axis("SP"), 7, draw.sizes["SP"])
        assert draw.contents["state"].nbytes == draw.n_bytes["state"] == 4 * 5 * draw.sizes["SP"]
        assert draw.bytes_moved(module.task) == 4 * (35 * 4 + 5 + 7), "gaps are not moved"
    pitches = {draw.sizes["SP"] for draw in found}
    assert {7, 8} < pitches, "back to back, and one step"
    assert max(pitches) >= 32, "and much more"
    assert [drawn(module, index).sizes for index in range(64)] == [draw.sizes for draw in found]
    assert all(drawn(module, index, always=True).sizes["SP"] > 7 for index in range(64))


def test_every_shape_is_checked_with_gaps_and_timed_without(pool_decay: Task, cache: Path) -> None:
    bench = Bench(pool_decay, n_threads=1, cache=cache)
    bench.use("s")
    draws = bench.exam.check_draws("check")
    shapes = [draw.shape for draw in draws]
    assert {"R": 1, "C": 7} in shapes, "edge shapes are among them"
    for shape in shapes:
        sizes = [draw.sizes for draw in draws if draw.shape == shape]
        assert any(one["SP"] > one["C"] and one["XP"] > one["C"] for one in sizes), shape
    assert any(draw.sizes["SP"] == draw.sizes["C"] for draw in draws)
    timed = bench.exam.stock({"R": 101, "C": 203})[3]
    assert (timed.sizes["SP"], timed.sizes["XP"]) == (203, 203)
    for rolled in bench.exam.rolled():
        assert len({(step.sizes["SP"], step.sizes["XP"]) for step in rolled.steps}) == 1
    assert bench.exam.rolled()[0].steps[0].sizes["SP"] > bench.exam.rolled()[0].shape["C"]
    bench.close()


def test_who_follows_the_pitch_is_right_and_timed(judge: Judge, pool_decay: Task) -> None:
    verdict = judged(judge, pool_decay, HONEST, level="screen")
    assert verdict.correct, verdict.message
    assert verdict.timing is not None
    assert verdict.timing.shapes[0].bytes_moved == 4 * (401 * 777 * 4 + 401 + 777)


def test_a_python_candidate_gets_views(judge: Judge, pool_decay: Task) -> None:
    assert judged(judge, pool_decay, (TASK / "honest.py").read_text(), language="python").correct


WRONG = {
    "ignores the pitch of the state": ("state[r * SP + c]", "state[r * C + c]"),
    "ignores the pitch of x": ("x[r * XP + c]", "x[r * C + c]"),
    "uses what lies between rows of x": ("* w[c];", "* w[c] + 0 * x[r * XP + XP - 1];"),
    "uses what lies between rows of the state": ("* w[c];", "* w[c] + 0 * state[r * SP + SP - 1];"),
}
"""Where there is no gap the last two read the row's last element, which is harmless."""


@pytest.mark.parametrize("what", WRONG)
def test_who_gets_it_wrong_is(judge: Judge, pool_decay: Task, what: str) -> None:
    old, new = WRONG[what]
    assert old in HONEST
    verdict = judged(judge, pool_decay, HONEST.replace(old, new))
    assert verdict.outcome is Outcome.WRONG, verdict.message


@pytest.mark.parametrize(
    ("tensor", "pitch", "value"), [("state", "SP", "0.0f"), ("const_cast<float*>(x)", "XP", 'std::nanf("")')]
)
def test_who_writes_between_rows_is_told_so(
    judge: Judge, pool_decay: Task, tensor: str, pitch: str, value: str
) -> None:
    line = f"    if ({pitch} > C) ({tensor})[{pitch} - 1] = {value};\n    return 0;"
    verdict = judged(judge, pool_decay, "#include <cmath>\n" + HONEST.replace("    return 0;", line))
    assert verdict.outcome is Outcome.WRONG
    assert "wrote between the rows of" in verdict.message


def test_who_writes_between_rows_after_a_while_is_found_by_the_rollout(judge: Judge, pool_decay: Task) -> None:
    line = "    static int n = 0;\n    if (++n > 60 && SP > C) state[SP - 1] = 0;\n    return 0;"
    verdict = judged(judge, pool_decay, HONEST.replace("    return 0;", line))
    assert verdict.outcome is Outcome.WRONG
    assert "wrote between the rows of state" in verdict.message
