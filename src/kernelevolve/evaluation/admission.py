"""Before anything is searched: every fake answer must fail the task's own rule on every seed, every honest one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from kernelevolve.errors import TaskError
from kernelevolve.evaluation.controls import Answers, Recipe, expected, recipes
from kernelevolve.evaluation.draws import Distribution, Draw, answered, distributions, make_draw, small_shapes
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.evaluation.tensors import tensor_bytes
from kernelevolve.model.admission import Admission, Control
from kernelevolve.model.task import FLOAT_DTYPES, Shape

N_SEEDS = 3
CONTROLS_VERSION = 1
"""Goes up when a control or the rule's meaning changes: kept tables are then made again."""
THOROUGH_BYTES = 4 * 2**20
"""A larger shape is tried with one seed and, where it is only listed, with few distributions: the nominal one, the one
of the other sign, another one."""
LARGE_DISTRIBUTIONS = 3
REFERENCE_SLACK = 10.0
SAME = 1e-11
"""Relative difference in float64 below which leaving something out changed nothing."""


@dataclass(kw_only=True)
class Tally:
    kind: str
    may_be_algebra: bool = False
    passed: int = 0
    tried: int = 0
    where: str = ""
    all_exact: bool = True


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One seed on one shape: the draws a candidate would meet there, and as many others to take answers from."""

    seed: int
    shape: Shape
    draws: list[Draw]
    others: list[Draw]

    @property
    def words(self) -> str:
        sizes = " ".join(f"{name}={size}" for name, size in self.shape.items()) or "fixed"
        return f"seed {self.seed}, shape {sizes}"


def admit(module: TaskModule, *, secret: str, n_seeds: int = N_SEEDS) -> Admission:
    """The table of controls of a task. Raises TaskError where the task breaks its own declaration."""
    task = module.task
    tallies: dict[str, Tally] = {}
    small, listed = _small_shape(module), min(task.shapes.shown, key=lambda shape: math.prod(shape.values()))
    for seed in range(n_seeds):
        for shape in _shapes(module):
            trial = _trial(module, f"{secret}|admission|{seed}", seed, shape, small=shape == small)
            if trial is None or (seed > 0 and _large(trial.draws[0])):
                continue
            costs = {"none", "small" if shape == small else "", "listed" if shape == listed else ""}
            for recipe in recipes(module, trial.draws[0], costs):
                tally = tallies.setdefault(recipe.name, Tally(kind="fake", may_be_algebra=recipe.may_be_algebra))
                _put_fake(module, recipe, trial, tally)
            for name, answers, slack in _honest(module, trial):
                _put_honest(name, answers, slack, trial, tallies)
    controls = tuple(
        Control(
            name=name, kind="honest" if tally.kind == "honest" else "fake", passed=tally.passed, tried=tally.tried,
            where=tally.where, exact=tally.kind == "fake" and tally.may_be_algebra and tally.all_exact,
        )
        for name, tally in tallies.items() if tally.tried
    )  # fmt: skip
    return Admission(task_id=task.content_id, controls=controls, n_seeds=n_seeds)


def _shapes(module: TaskModule) -> list[Shape]:
    """One small shape, and every listed one: a listed shape on which a fake passes would be won by the fake."""
    sets = module.task.shapes
    listed: list[Shape] = []
    for shape in (_small_shape(module), *sets.shown, *sets.search, *sets.sealed):
        if shape not in listed:
            listed.append(shape)
    return listed


def _small_shape(module: TaskModule) -> Shape:
    return next(iter(small_shapes(module)), min(module.task.shapes.shown, key=lambda shape: sum(shape.values())))


def _trial(module: TaskModule, secret: str, seed: int, shape: Shape, *, small: bool) -> Trial | None:
    plan = sorted(distributions(module), key=lambda how: -1.0 if how.label == module.variants[0] else how.scale)
    draws: list[Draw] = []
    others: list[Draw] = []
    for how in plan:
        if len(draws) == LARGE_DISTRIBUTIONS and not small and _large(draws[0]):
            break
        try:
            draw = _draw(module, secret, shape, how, "")
            other = _draw(module, secret, shape, how, "other")
        except ValueError:  # the generator refuses: outside what the operator is defined for
            continue
        draws.append(draw)
        others.append(_with_static_of(module, other, draw))
    return Trial(seed=seed, shape=shape, draws=draws, others=others) if draws else None


def _draw(module: TaskModule, secret: str, shape: Shape, how: Distribution, which: str) -> Draw:
    return make_draw(
        module, shape, secret=secret, label=f"{how.label}{which}", variant=how.variant, scale=how.scale, twist=how.twist
    )


def _with_static_of(module: TaskModule, other: Draw, draw: Draw) -> Draw:
    """Another draw for the same weights: a kernel that ignores its input still has them."""
    static = {spec.name: draw.inputs[spec.name] for spec in module.task.inputs if spec.static}
    if not static:
        return other
    try:
        return answered(module, draw.shape, {**other.inputs, **static}, label=other.label)
    except (RuntimeError, ValueError):  # weights and inputs of this task only fit together
        return other


def _large(draw: Draw) -> bool:
    return sum(draw.n_bytes.values()) > THOROUGH_BYTES


def _put_fake(module: TaskModule, recipe: Recipe, trial: Trial, tally: Tally) -> None:
    """A fake is caught in a trial when one of the draws refuses it."""
    caught, applied, exact = False, False, True
    for draw, other in zip(trial.draws, trial.others, strict=True):
        answers = recipe.make(draw, other)
        if answers is None:
            continue
        applied = True
        caught = caught or not _accepted(draw, answers)
        exact = exact and _same(draw, answers)
        if caught:
            break
    if not applied:
        return
    tally.tried += 1
    if not caught:
        tally.passed += 1
        tally.where = tally.where or trial.words
        tally.all_exact = tally.all_exact and exact and (not tally.may_be_algebra or _algebra(module, recipe, trial))


def _algebra(module: TaskModule, recipe: Recipe, trial: Trial) -> bool:
    """Whether leaving this out changes nothing on inputs of the other sign either: what only holds for the inputs the
    task draws is no algebra."""
    draw, other = trial.draws[0], trial.others[0]
    floats = [spec.name for spec in module.task.inputs if spec.dims and spec.dtype in FLOAT_DTYPES and not spec.static]
    try:
        turned = answered(module, draw.shape, {**draw.inputs, **{n: -draw.inputs[n] for n in floats}}, label="turned")
        answers = recipe.make(turned, other)
    except (RuntimeError, ValueError, TaskError):  # the operator is not defined there
        return True
    return answers is None or _same(turned, answers)


def _honest(module: TaskModule, trial: Trial) -> Iterator[tuple[str, list[Answers], float]]:
    """(name, answers, slack): the reference itself, run twice, and for a tolerance the float64 answer rounded once. The
    reference may miss a tight rule by `REFERENCE_SLACK`: a kernel may be asked to be better than its baseline."""
    for name, seed in (("the reference", 1), ("the reference, run again", 2)):
        torch.manual_seed(seed)
        yield name, [module.honest(draw.inputs, draw.shape) for draw in trial.draws], REFERENCE_SLACK
    if module.task.rule.kind == "scaled":
        names = [spec.name for spec in module.task.written]
        yield "float64, rounded once", [{name: expected(draw, name) for name in names} for draw in trial.draws], 1.0


def _put_honest(name: str, answers: list[Answers], slack: float, trial: Trial, tallies: dict[str, Tally]) -> None:
    tally = tallies.setdefault(name, Tally(kind="honest"))
    tally.tried += 1
    if all(_accepted(draw, given, slack) for draw, given in zip(trial.draws, answers, strict=True)):
        tally.passed += 1
    else:
        tally.where = tally.where or trial.words


def _accepted(draw: Draw, answers: Answers, slack: float = 1.0) -> bool:
    """By the very comparison a candidate's bytes go through. `slack`: how far beyond the allowance still counts."""
    for name, answer in draw.answers.items():
        given = answers[name].to(getattr(torch, answer.spec.dtype)).contiguous()
        if given.shape != answer.shape:
            return False
        mismatch = answer.judge(tensor_bytes(given), draw.shape)
        if mismatch is not None and (mismatch.worst_error is None or mismatch.worst_error > slack):
            return False
    return True


def _same(draw: Draw, answers: Answers) -> bool:
    for name in draw.answers:
        wanted, given = expected(draw, name).double(), answers[name].double()
        scale = float(wanted.abs().max()) if wanted.numel() else 0.0
        if wanted.shape != given.shape or not bool(((wanted - given).abs() <= SAME * max(scale, 1e-300)).all()):
            return False
    return True
