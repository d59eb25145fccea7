"""Is it right? Every draw: fresh poison, one call, then outputs, guard bands and inputs are looked at in full."""

from __future__ import annotations

from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.channel import Arguments, Caller
from kernelevolve.evaluation.compare import ROUNDOFF, relative_l2
from kernelevolve.evaluation.draws import Draw, joint_layout
from kernelevolve.evaluation.exam import Rolled
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.looking import AnyArena, gap_written, look
from kernelevolve.evaluation.tensors import copied
from kernelevolve.model.task import TensorSpec
from kernelevolve.model.verdict import Outcome


def check(bench: Bench, runner: Caller, arena: AnyArena, draws: list[Draw], *, timeout_s: float) -> int:
    """Number of outputs compared in full. Raises CandidateFault."""
    for draw in draws:
        _check_draw(bench, runner, arena, draw, timeout_s)
    n_compared = len(draws) * len(bench.task.written)
    for rolled in bench.exam.rolled():
        _check_rollout(bench, runner, arena, rolled, timeout_s)
        n_compared += 1 + len(rolled.outputs)
    return n_compared


def _check_draw(bench: Bench, runner: Caller, arena: AnyArena, draw: Draw, timeout_s: float) -> None:
    task = bench.task
    layout = joint_layout([draw])
    arena.prepare(0, layout, draw.contents, draw.outputs(task), poison="poison" in bench.defences)
    bench.settle()
    _bind(runner, draw.arguments(task, layout, 0), timeout_s)
    runner.run([0], timeout_s=timeout_s)
    look(task, arena, layout, 0, draw, defences=bench.defences)


def _bind(runner: Caller, arguments: Arguments, timeout_s: float) -> None:
    """Steps of a trajectory differ in content alone: then there is nothing new to say."""
    if runner.bound.get(0) != arguments:
        runner.bind({0: arguments}, timeout_s=timeout_s)


def _check_rollout(bench: Bench, runner: Caller, arena: AnyArena, rolled: Rolled, timeout_s: float) -> None:
    rollout = bench.task.rollout
    assert rollout is not None
    for spec, drift in drifts(bench, runner, arena, rolled, timeout_s):
        allowed = rollout.relative_l2 + ROUNDOFF.get(spec.dtype, 0.0)
        if drift > allowed:
            raise CandidateFault(
                Outcome.WRONG,
                f"{spec.name} drifts to a relative error of {drift:.2e} after {rollout.steps} steps, "
                f"allowed {allowed:.1e}",
            )


def drifts(
    bench: Bench, runner: Caller, arena: AnyArena, rolled: Rolled, timeout_s: float
) -> list[tuple[TensorSpec, float]]:
    """How far state and outputs are off at the end of a trajectory, relative to the float64 oracle's."""
    task, rollout = bench.task, bench.task.rollout
    assert rollout is not None
    layout = joint_layout(rolled.steps)
    state_spec = next(spec for spec in task.inputs if spec.name == rollout.state)
    state = rolled.steps[0].contents[rollout.state]
    for step in rolled.steps:
        arena.prepare(0, layout, {**step.contents, rollout.state: state}, step.outputs(task))
        bench.settle()
        _bind(runner, step.arguments(task, layout, 0), timeout_s)
        runner.run([0], timeout_s=timeout_s)
        state = copied(arena.view(0, layout, rollout.state, step.n_bytes[rollout.state]))
    if state_spec.pitch and bool(gap_written(state, state_spec, rolled.steps[0])):
        raise CandidateFault(Outcome.WRONG, f"wrote between the rows of {state_spec.name} in {rollout.steps} steps")
    found = [(state_spec, relative_l2(state_spec, state, rolled.state))]
    for spec in task.outputs:
        got = arena.view(0, layout, spec.name, rolled.steps[-1].n_bytes[spec.name])
        found.append((spec, relative_l2(spec, got, rolled.outputs[spec.name])))
    return found
