"""An Exam: what the candidates of a task are asked, and the answers. Lives in the judge's process only.

It holds what a candidate must never see: the loaded reference, the secret, and draws with what is expected of them.
Answers are computed once per draw and reused for every candidate.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import torch

from kernelevolve.evaluation.arena import Layout
from kernelevolve.evaluation.defences import Defences
from kernelevolve.evaluation.device import Device
from kernelevolve.evaluation.draws import Distribution, Draw, distributions, joint_layout, make_draw, small_shapes
from kernelevolve.evaluation.pitches import Gaps
from kernelevolve.evaluation.stock import DEVICE_SHARE, Allowance, Feed, Stock
from kernelevolve.evaluation.task_module import Inputs, TaskModule
from kernelevolve.model.task import Shape, Task

VARYING_DRAWS = 8
"""How many are looked at to find out how much room a slot needs, where sizes depend on the data."""
SIZE_MARGIN = 1.25
"""Room for later draws where sizes depend on the data."""
EXTRA_VARIANTS = 3
"""Distributions besides the nominal one that each listed shape is checked with."""
REFRESH_BYTES = 16 * 2**20
"""How much is rewritten before a sample at most, where one slot is not more: more would not stay in cache."""
MAX_SLOTS = 32
COLD_FACTOR = 5
"""Slots of a device's arena hold this many times what its cache holds, where more than two are not enough."""


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """A trajectory: inputs of every step but the state, and the float64 oracle's end."""

    shape: Shape
    steps: list[Draw]
    state: torch.Tensor
    outputs: dict[str, torch.Tensor]


class Exam:
    """The questions of one task, by shape, level and distribution; `use` makes all of them others."""

    def __init__(self, task: Task, folder: Path, *, defences: Defences, device: Device | None) -> None:
        """`folder`: where the reference's source goes."""
        self.task = task
        self.module = TaskModule(task, folder, device=device.name if device else "cpu")
        self._defences = defences
        self._device = device
        self._secret = ""
        self._allowance: Allowance | None = None
        self._draws: dict[str, Draw] = {}
        self._stocks: dict[str, Stock] = {}
        self._rolled: list[Rolled] | None = None

    def use(self, secret: str) -> bool:
        """Draw from this secret from now on. Returns whether it is another than before."""
        if secret == self._secret:
            return False
        self._secret = secret
        self._draws.clear()
        self._stocks.clear()
        self._allowance = None
        self._rolled = None
        return True

    def shapes(self, level: str) -> tuple[Shape, ...]:
        """The shapes a level is measured on."""
        sets = self.task.shapes
        return (sets.sealed or sets.search or sets.shown) if level == "sealed" else (sets.search or sets.shown)

    def draw(self, shape: Shape, how: Distribution | None = None, label: str = "", gaps: Gaps | None = None) -> Draw:
        """The same one whenever it is asked for; `label` tells several of one distribution apart."""
        how = how or distributions(self.module)[0]
        gaps = gaps if self.task.pitched and "gaps" in self._defences else None
        key = f"{sorted(shape.items())}|{label}|{how.label}|{gaps}"
        if key not in self._draws:
            self._draws[key] = make_draw(
                self.module, shape, secret=self._secret, label=label or how.label, variant=how.variant,
                scale=how.scale, twist=how.twist, gaps=gaps,
            )  # fmt: skip
        return self._draws[key]

    def stock(self, shape: Shape) -> Stock:
        """What timed calls on a shape take their content from: nominal draws."""
        key = str(sorted(shape.items()))
        if key not in self._stocks:
            secret, variant = self._secret, self.module.variants[0]

            def make(index: int) -> Draw:
                return make_draw(
                    self.module, shape, secret=secret, label=f"timed-{index}", variant=variant, slim=True
                )  # fmt: skip

            if self._device is not None and self._allowance is None:
                self._allowance = Allowance(int(DEVICE_SHARE * self._device.memory_bytes))
            self._stocks[key] = Stock(make, allowance=self._allowance)
        return self._stocks[key]

    def feed(self, shape: Shape) -> Feed:
        """A new process' way through the stock."""
        layout, _ = self.layout(shape)
        return Feed(self.stock(shape), layout=layout, repeat="fresh_content" not in self._defences)

    def check_draws(self, level: str) -> list[Draw]:
        """What a candidate is compared on: small shapes in every distribution, then every listed shape in the nominal
        one and in a few others, chosen by the secret: who tells shapes apart learns nothing."""
        plan = distributions(self.module, self._defences)
        shapes = small_shapes(self.module) if "edge_shapes" in self._defences else []
        wanted: list[tuple[Shape, Distribution]] = []
        for index, shape in enumerate(shapes):
            wanted += [(shape, how) for how in (plan if index == 0 else [plan[index % len(plan)]])]
        listed = self.shapes(level) if level != "check" else self.task.shapes.shown + self.task.shapes.search
        rng = random.Random(f"{self._secret}|listed")
        for index, shape in enumerate(listed):
            others = rng.sample(plan[1:], min(EXTRA_VARIANTS, len(plan) - 1))
            if "listed_variants" not in self._defences:
                others = []
            wanted += [(shape, how) for how in (plan if index == 0 and not shapes else [plan[0], *others])]
        draws: list[Draw] = []
        for shape, how in wanted:
            # One of each shape has gaps wherever it may have them, the others by chance.
            gaps = Gaps(seed=how.label, always=all(draw.shape != shape for draw in draws))
            try:
                draws.append(self.draw(shape, how, gaps=gaps))
            except ValueError:  # the generator refuses: outside what the operator is defined for
                if shape in listed and how is plan[0]:
                    raise
        return draws

    def rolled(self) -> list[Rolled]:
        """The multi-step trajectories of a stateful operator, on a small shape: one for each of the task's variants,
        since what drifts in one fades in another."""
        rollout = self.task.rollout
        if rollout is None or "rollout" not in self._defences:
            return []
        if self._rolled is None:
            shape = (small_shapes(self.module) or list(self.task.shapes.shown))[0]
            hows = [how for how in distributions(self.module) if how.scale == 1.0 and not how.twist]
            self._rolled = [self._roll(shape, how, rollout.state, rollout.steps) for how in hows]
        return self._rolled

    def _roll(self, shape: Shape, how: Distribution, state_name: str, n_steps: int) -> Rolled:
        # The same for all steps: the state goes from one to the next as it lies.
        gaps = Gaps(seed=how.label, always=how.variant == self.module.variants[0])
        steps = [self.draw(shape, how, label=f"{how.label}-step-{index}", gaps=gaps) for index in range(n_steps)]
        state = steps[0].inputs[state_name].double()
        outputs: dict[str, torch.Tensor] = {}
        for step in steps:
            inputs: Inputs = {**step.inputs, state_name: state}
            outputs = self.module.expected(inputs, shape)
            state = outputs.pop(state_name)
        return Rolled(shape=shape, steps=steps, state=state, outputs=outputs)

    def layout(self, shape: Shape) -> tuple[Layout, int]:
        """Layout and number of timed slots for a shape; one more slot is used for warming up."""
        stock = self.stock(shape)
        draws = [stock[index] for index in range(VARYING_DRAWS if self.task.varies else 1)]
        layout = joint_layout(draws, margin=SIZE_MARGIN if self.task.varies else 1.0)
        if self._device is not None:
            return layout, max(2, min(MAX_SLOTS, -(-COLD_FACTOR * self._device.l2_bytes // layout.n_bytes)))
        return layout, max(1, min(MAX_SLOTS, REFRESH_BYTES // max(layout.n_bytes, 1)))

    def timing_bytes(self, level: str) -> int:
        """Arena size the timing of a level needs."""
        sizes = [self.layout(shape) for shape in self.shapes(level)]
        return max((layout.n_bytes * (n_slots + 1) for layout, n_slots in sizes), default=0)

    def needed_bytes(self, level: str) -> int:
        """Of an arena in which a level's checks and its timing have room."""
        draws = self.check_draws(level)
        steps = [step for rolled in self.rolled() for step in rolled.steps]
        needed = max(joint_layout([draw]).n_bytes for draw in [*draws, *steps])
        if level == "check":
            return needed
        # On a device there is room for all levels at once: the baselines need not be compiled again for the next.
        levels = {"screen", level} if self._device is None else {"screen", "confirm", "sealed"}
        return max(needed, *(self.timing_bytes(one) for one in levels))
