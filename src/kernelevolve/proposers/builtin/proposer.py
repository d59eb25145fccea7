"""The default proposer: recipes first, Inductor's kernels beside or instead of them, then tuning what works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kernelevolve.errors import ProposerError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.proposers.base import Tools, without_argument
from kernelevolve.proposers.builtin.arm import PROPOSER, Arm, recipe_arm
from kernelevolve.proposers.builtin.inductor import INDUCTOR, InductorSource
from kernelevolve.proposers.builtin.moves import Moves
from kernelevolve.proposers.builtin.recipe import RECIPES, family_recipes
from kernelevolve.toolchains.cache import default_cache

PLATFORMS = ("cpu", "cuda")
InductorArm = Callable[[Task, PlatformFacts], Arm]
"""Raises ProposerError when the task's kernels cannot be taken over."""


def make(argument: str, tools: Tools) -> BuiltinProposer:
    without_argument(PROPOSER, argument)
    return BuiltinProposer()


class BuiltinProposer:
    """Writes C++ for the CPU, CUDA and Triton for NVIDIA GPUs. Raises ProposerError for another platform, and for a
    task that has no recipe and whose reference cannot be taken from Inductor."""

    name = PROPOSER

    def __init__(self, *, recipes: Path = RECIPES, inductor: InductorArm | None = None) -> None:
        """`inductor` may be given to do without the child process."""
        self._recipes = recipes
        self._inductor = inductor or InductorSource(cache=default_cache()).arm

    def propose(self, brief: Brief) -> list[Candidate]:
        if brief.task.platform not in PLATFORMS:
            raise ProposerError(f"the builtin proposer writes for {' and '.join(PLATFORMS)}, not {brief.task.platform}")
        moves = Moves(brief, self._arms(brief))
        found: list[Candidate] = []
        while len(found) < brief.n_wanted and (candidate := moves.next()) is not None:
            found.append(candidate)
        return found

    def _arms(self, brief: Brief) -> Sequence[Arm]:
        """Inductor takes seconds to ask, so it is asked once every recipe has had its try."""
        task, facts = brief.task, brief.facts
        fitting = [r for r in family_recipes(task.family or task.name, self._recipes) if r.fits(task, facts)]
        arms = [recipe_arm(recipe, task, facts) for recipe in fitting]
        tried = {attempt.candidate.origin.recipe for attempt in (*brief.history, *brief.parents)}
        if task.platform != "cpu":
            if not arms and not brief.parents:
                raise ProposerError(f"no recipe for '{task.family or task.name}' on {task.platform} at these sizes")
            return arms
        if INDUCTOR not in tried and not all(arm.title in tried for arm in arms):
            return arms
        try:
            arms.append(self._inductor(task, facts))
        except ProposerError as error:
            if not arms and not brief.parents:
                raise ProposerError(f"no recipe for '{task.family or task.name}', and {error}") from error
        return arms
