"""The default proposer: recipes first, Inductor's kernels beside or instead of them, then tuning what works."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelevolve.errors import ProposerError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.proposers.builtin.arm import PROPOSER, Arm, recipe_arm
from kernelevolve.proposers.builtin.inductor import INDUCTOR, InductorSource
from kernelevolve.proposers.builtin.moves import Moves
from kernelevolve.proposers.builtin.recipe import RECIPES, family_recipes
from kernelevolve.toolchains.cache import default_cache


class BuiltinProposer:
    """Writes C++ for the CPU. Raises ProposerError for another platform, and for a task that has no recipe and
    whose reference cannot be taken from Inductor."""

    name = PROPOSER

    def __init__(self, *, recipes: Path = RECIPES, cache: Path | None = None) -> None:
        self._recipes = recipes
        self._inductor = InductorSource(cache=cache or default_cache())

    def propose(self, brief: Brief) -> list[Candidate]:
        if brief.task.platform != "cpu":
            raise ProposerError(f"the builtin proposer writes C++ for the CPU, not for {brief.task.platform}")
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
        if INDUCTOR not in tried and not all(arm.title in tried for arm in arms):
            return arms
        try:
            arms.append(self._inductor.arm(task, facts))
        except ProposerError as error:
            if not arms and not brief.parents:
                raise ProposerError(f"no recipe for '{task.family or task.name}', and {error}") from error
        return arms
