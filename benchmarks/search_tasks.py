"""The landscapes of the comparison: built-in tasks at one small shape, with every candidate of the built-in proposer
whose number can be counted: all recipes, all their knobs, one thread, the compiler's flags left alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelevolve.errors import ProposerError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Shape, ShapeSets, Task
from kernelevolve.proposers.builtin.arm import Arm
from kernelevolve.proposers.builtin.flags import FLAGS
from kernelevolve.proposers.builtin.proposer import BuiltinProposer
from kernelevolve.proposers.builtin.recipe import RECIPES
from kernelevolve.tasks import load_task

SHAPES: dict[str, Shape] = {
    "merge_bucketized_dense": {"F": 127, "N": 256},
    "jagged_to_padded_dense": {"B": 64, "L": 100, "D": 100},
    "dlrm_dot_interaction": {"B": 64, "F": 26, "D": 64},
    "bucketize": {"N": 65537, "M": 100},
    "conv1d": {"B": 4, "CI": 48, "CO": 64, "L": 99},
    "wukong_optimized_fm": {"B": 4, "N": 24, "D": 100, "K": 96},
    "rms_norm": {"R": 128, "C": 1023},
}
"""The one shape that is searched and timed, by task: each call takes tens to hundreds of microseconds."""
N_THREADS = 1
BASELINES = ("eager",)


def narrow_task(name: str) -> Task:
    """The built-in task at its shape of `SHAPES`, with nothing sealed: claims are for the search shape."""
    task = load_task(name)
    shape = SHAPES[name]
    return task.model_copy(update={"shapes": ShapeSets(shown=(shape,), search=(shape,))})


def one_core(facts: PlatformFacts) -> PlatformFacts:
    """The same machine with one core to use, so that there is no choice of threads."""
    return facts.model_copy(update={"n_cores": 1})


class CountableProposer(BuiltinProposer):
    """The built-in proposer on arms without flags and without Inductor's kernel: its choices are its own."""

    def __init__(self, *, recipes: Path = RECIPES) -> None:
        super().__init__(recipes=recipes, inductor=_no_inductor)

    def _arms(self, brief: Brief) -> Sequence[Arm]:
        return [_without_flags(arm) for arm in super()._arms(brief)]

    def everything(self, brief: Brief) -> Iterator[Candidate]:
        """All candidates there are, arm after arm."""
        for arm in self._arms(brief):
            for values in itertools.product(*(knob.values for knob in arm.knobs)):
                yield arm.candidate({knob.name: value for knob, value in zip(arm.knobs, values, strict=True)})


def _without_flags(arm: Arm) -> Arm:
    knobs = tuple(knob for knob in arm.knobs if knob.name not in FLAGS)
    return Arm(title=arm.title, summary=arm.summary, knobs=knobs, write=arm.write, language=arm.language)


def _no_inductor(task: Task, facts: PlatformFacts) -> Arm:
    raise ProposerError("left out: its kernel has no knobs of its own")
