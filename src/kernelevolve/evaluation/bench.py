"""A Bench: one task made ready to judge any number of candidates. Lives in the judge's process only.

It holds what a candidate must never see: the loaded reference, the secret, draws with their answers, and the
process in which the baselines run. Answers are computed once per draw and reused for every candidate.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from kernelevolve.errors import MachineError, TaskError
from kernelevolve.evaluation.arena import Arena, Layout
from kernelevolve.evaluation.channel import Caller
from kernelevolve.evaluation.cuda_runner import CudaRunner, cuda_runner_binary
from kernelevolve.evaluation.defences import ALL, Defences
from kernelevolve.evaluation.device import CudaDevice, Device
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.device_side import DeviceSide
from kernelevolve.evaluation.draws import Distribution, Draw, distributions, joint_layout, make_draw, small_shapes
from kernelevolve.evaluation.fault import StrangeWork
from kernelevolve.evaluation.looking import AnyArena
from kernelevolve.evaluation.outside_side import OutsideSide, Snapshot, n_decoys
from kernelevolve.evaluation.pitches import Gaps
from kernelevolve.evaluation.reference import BaselineFailed, ReferenceServer
from kernelevolve.evaluation.side import Side, nothing
from kernelevolve.evaluation.spares import Spares
from kernelevolve.evaluation.stock import DEVICE_SHARE, Allowance, Feed, Stock
from kernelevolve.evaluation.task_module import Inputs, TaskModule
from kernelevolve.model.task import Shape, Task
from kernelevolve.model.verdict import Verdict

READY_PAIRS = 8
"""How many samples' worth of draws are made before the first candidate is timed; more are made when wanted."""
VARYING_DRAWS = 8
SIZE_MARGIN = 1.25
"""Room for later draws where sizes depend on the data."""
EXTRA_VARIANTS = 3
"""Distributions besides the nominal one that each listed shape is checked with."""
REFRESH_BYTES = 16 * 2**20
"""How much is rewritten before a sample at most, where one slot is not more: more would not stay in cache."""
ROOMY_BYTES = 24 * 2**20
"""An arena is at least this large: the next level's shapes then fit, and the baselines need not be compiled again."""
MAX_SLOTS = 32
COLD_FACTOR = 5
"""Slots of a device's arena hold this many times what its cache holds, where more than two are not enough."""
COMPILE_TIMEOUT_S = 300.0
NOTE_CHARACTERS = 200
BUSY_DEVICE = "somebody else uses this GPU, so nothing can be timed on it from outside"
SETTLE_LOOKS, N_LOOKS, LOOK_PAUSE_S = 60, 20, 0.05
"""Watches until the device is quiet after a process has gone, then those that must all find it quiet."""


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """A trajectory: inputs of every step but the state, and the float64 oracle's end."""

    shape: Shape
    steps: list[Draw]
    state: torch.Tensor
    outputs: dict[str, torch.Tensor]


class Bench:
    def __init__(
        self, task: Task, *, n_threads: int, cache: Path, defences: Defences = ALL, device: Device | None = None
    ) -> None:
        """`device`: the one that the task's platform has, unless a test gives another."""
        torch.set_num_threads(n_threads)
        self.defences = defences
        self.task = task
        self.n_threads = n_threads
        self._secret = ""
        self._cache = cache
        self._folder = tempfile.TemporaryDirectory(prefix="ke-task-")
        self._device = device or (CudaDevice() if task.platform == "cuda" else None)
        where = self._device.name if self._device else "cpu"
        self.module = TaskModule(task, Path(self._folder.name), device=where)
        self._allowance: Allowance | None = None
        self._spares: Spares | None = None
        self._draws: dict[str, Draw] = {}
        self._stocks: dict[str, Stock] = {}
        self._reference: ReferenceServer | None = None
        self._arena: AnyArena | None = None
        self._sides: dict[tuple[str, str, bool], Side] = {}
        self._snapshot: Snapshot | None = None
        self._empty_s: dict[str, float] = {}
        self.baseline_notes: dict[str, str] = {}
        self._rolled: list[Rolled] | None = None
        self._fastest: dict[str, str] = {}
        self.twins: dict[str, Verdict] = {}
        """Verdicts of this secret by the machine code they are about."""

    def use(self, secret: str) -> None:
        """Draw from this secret from now on; the baselines' process and what it compiled stay."""
        if secret != self._secret:
            self._secret = secret
            self._draws.clear()
            self._stocks.clear()
            self.twins.clear()
            self._allowance = None
            self._sides.clear()
            self._rolled = None

    def shapes(self, level: str) -> tuple[Shape, ...]:
        """The shapes a level is measured on."""
        sets = self.task.shapes
        return (sets.sealed or sets.search or sets.shown) if level == "sealed" else (sets.search or sets.shown)

    def draw(self, shape: Shape, how: Distribution | None = None, label: str = "", gaps: Gaps | None = None) -> Draw:
        """The same one whenever it is asked for; `label` tells several of one distribution apart."""
        how = how or distributions(self.module)[0]
        gaps = gaps if self.task.pitched and "gaps" in self.defences else None
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
        return Feed(self.stock(shape), layout=layout, repeat="fresh_content" not in self.defences)

    def check_draws(self, level: str) -> list[Draw]:
        """What a candidate is compared on: small shapes in every distribution, then every listed shape in the nominal
        one and in a few others, chosen by the secret: who tells shapes apart learns nothing."""
        plan = distributions(self.module, self.defences)
        shapes = small_shapes(self.module) if "edge_shapes" in self.defences else []
        wanted: list[tuple[Shape, Distribution]] = []
        for index, shape in enumerate(shapes):
            wanted += [(shape, how) for how in (plan if index == 0 else [plan[index % len(plan)]])]
        listed = self.shapes(level) if level != "check" else self.task.shapes.shown + self.task.shapes.search
        rng = random.Random(f"{self._secret}|listed")
        for index, shape in enumerate(listed):
            others = rng.sample(plan[1:], min(EXTRA_VARIANTS, len(plan) - 1))
            if "listed_variants" not in self.defences:
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
        if rollout is None or "rollout" not in self.defences:
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

    def baseline(self, name: str, shape: Shape, level: str, *, outside: bool = False) -> Side | None:
        """A baseline's side for a shape, warmed up and calibrated; None when it cannot run this task."""
        key = (name, str(sorted(shape.items())), outside)
        if key in self._sides:
            return self._sides[key]
        if name in self.baseline_notes:
            return None
        server, arena = self._server(level)
        side = self.side(
            name, server, arena, shape, trusted=True, before=lambda: server.choose(name), outside=outside
        )  # fmt: skip
        try:
            side.calibrate(self.feed(shape), timeout_s=COMPILE_TIMEOUT_S)
        except BaselineFailed as error:
            if name == "eager":
                raise TaskError(self.task.name, [f"the reference fails on shape {shape}: {error}"]) from error
            self.baseline_notes[name] = str(error)[:NOTE_CHARACTERS]
            return None
        self._sides[key] = side
        return side

    def side(
        self, name: str, caller: Caller, arena: AnyArena, shape: Shape, *, trusted: bool = False,
        before: Callable[[], None] = nothing, outside: bool = False,
    ) -> Side:  # fmt: skip
        """Whoever is compared on a shape, not calibrated yet. `outside`: host code on a device, by another clock."""
        layout, n_slots = self.layout(shape)
        given: dict[str, Any] = {
            "name": name, "caller": caller, "arena": arena, "task": self.task, "layout": layout, "n_slots": n_slots,
            "n_threads": self.n_threads, "trusted": trusted, "defences": self.defences, "before": before,
        }  # fmt: skip
        if self._device is None:
            return Side(**given)
        if not outside:
            return DeviceSide(device=self._device, **given)
        assert isinstance(arena, DeviceArena)
        given |= {
            "device": self._device, "snapshot": self._snapshot_of(arena),
            "n_slots": min(n_slots, n_decoys(layout.n_bytes)),
        }  # fmt: skip
        return OutsideSide(empty_s=self._empty_trip_s(shape, given), **given)

    def _snapshot_of(self, arena: DeviceArena) -> Snapshot:
        """One for all sides of an arena."""
        if self._snapshot is None:
            self._snapshot = Snapshot(arena)
        return self._snapshot

    def _empty_trip_s(self, shape: Shape, given: dict[str, Any]) -> float:
        """What the outside clock shows where no call is made: of the baselines' own process, since nothing that a
        candidate's says counts. Measured once per arena and shape."""
        key = str(sorted(shape.items()))
        if key not in self._empty_s:
            server = self._reference_on(given["arena"])
            side = OutsideSide(**{**given, "name": "nothing", "caller": server, "trusted": True, "before": nothing})
            self._empty_s[key] = side.empty(self.feed(shape), timeout_s=COMPILE_TIMEOUT_S)
        return self._empty_s[key]

    def is_quiet(self) -> bool:
        """Whether the device works for the judge alone, with no candidate's process there. One that has just gone may
        still be cleared away."""
        self._until_quiet()
        return all(self._sees_nothing() for _ in range(N_LOOKS))

    def _until_quiet(self) -> None:
        for _ in range(SETTLE_LOOKS):
            if self._sees_nothing():
                return
            time.sleep(LOOK_PAUSE_S)

    def _sees_nothing(self) -> bool:
        assert self._device is not None
        with self._device.watched() as watch:
            pass
        return watch.n_gaps == 0

    def free_bytes(self) -> int:
        """Of a device's memory; 0 where there is none."""
        return self._device.free_bytes() if self._device is not None else 0

    def settle(self) -> None:
        """What was written to a device's memory is there: another process' work does not wait for the judge's."""
        if self._device is not None:
            self._device.synchronize()

    def arms(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The baselines asked for, and those the task brings along."""
        return tuple(dict.fromkeys((*names, *self.module.arms)))

    def runners(self, compiler: str) -> Spares:
        """Processes for device code, on the arena as it is now."""
        arena = self._arena
        assert isinstance(arena, DeviceArena)
        if self._spares is None:
            binary = cuda_runner_binary(self._cache, compiler)
            self._spares = Spares(lambda: CudaRunner(binary=binary, arena=arena, objective=self.task.objective))
        return self._spares

    def fastest(self, names: tuple[str, ...], shape: Shape, level: str, *, outside: bool = False) -> Side | None:
        """The baseline that is hardest to beat on a shape; timed once and remembered, for each clock."""
        found = [self.baseline(name, shape, level, outside=outside) for name in self.arms(names)]
        sides = [side for side in found if side is not None]
        key = f"{sorted(shape.items())}{' outside' * outside}"
        if len(sides) > 1 and key not in self._fastest:
            rng = random.Random(1)
            draws = [self.stock(shape)[0]]
            speeds = {
                side.name: min(side.sample(draws, side.slots(rng), timeout_s=60.0) for _ in range(3)) for side in sides
            }
            self._fastest[key] = min(speeds, key=lambda name: speeds[name])
        return next((side for side in sides if side.name == self._fastest.get(key, side.name)), None)

    def prepare(self, level: str, baselines: tuple[str, ...]) -> None:
        """Draw, compute answers, start and compile the baselines: once, outside any candidate's account."""
        self.check_draws(level)
        self.rolled()
        if level != "check":
            for shape in self.shapes(level):
                side = self.fastest(baselines, shape, level)
                if side is not None:
                    self.stock(shape)[READY_PAIRS * side.n_calls]

    def prepare_outside(self, level: str, baselines: tuple[str, ...]) -> None:
        """The same for the outside clock, while no process of a candidate is there. Raises MachineError: what the
        device does besides is nobody's here."""
        if self._spares is not None:
            self._spares.settle()  # one that still starts would look like somebody else's work
        _, arena = self._server(level)
        self._until_quiet()  # the last candidate's process may still be cleared away
        try:
            for shape in self.shapes(level):
                self.side("nothing", self._reference_on(arena), arena, shape, trusted=True, outside=True)
                if level == "screen":
                    self.fastest(baselines, shape, level, outside=True)
                for name in self.arms(baselines) if level != "screen" else ():
                    self.baseline(name, shape, level, outside=True)
        except StrangeWork as error:
            raise MachineError(f"{BUSY_DEVICE}: {error.message}") from error

    def arena(self, level: str) -> AnyArena:
        """The memory all sides of a comparison work in, one after the other: the same pages, so that where they happen
        to lie tells no side from another. Whoever puts a candidate on it wipes it first."""
        draws = self.check_draws(level)
        steps = [step for rolled in self.rolled() for step in rolled.steps]
        needed = max(joint_layout([draw]).n_bytes for draw in [*draws, *steps])
        if level != "check":
            # On a device there is room for all levels at once: the baselines need not be compiled again for the next.
            levels = {"screen", level} if self._device is None else {"screen", "confirm", "sealed"}
            needed = max(needed, *(self.timing_bytes(one) for one in levels))
        if self._arena is None or self._arena.n_bytes < needed:
            self._stop_server()
            n_bytes = max(needed, ROOMY_BYTES)
            self._arena = DeviceArena(n_bytes, self._device) if self._device is not None else Arena(n_bytes)
        return self._arena

    def _server(self, level: str) -> tuple[ReferenceServer, AnyArena]:
        arena = self.arena(level)
        return self._reference_on(arena), arena

    def _reference_on(self, arena: AnyArena) -> ReferenceServer:
        if self._reference is None:
            self._reference = ReferenceServer(task=self.task, arena=arena, n_threads=self.n_threads, cache=self._cache)
        return self._reference

    def _stop_server(self) -> None:
        self._sides.clear()
        self._empty_s.clear()
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None
        if self._spares is not None:
            self._spares.close()
            self._spares = None
        if self._reference is not None:
            self._reference.close()
            self._reference = None
        if self._arena is not None:
            self._arena.close()
            self._arena = None

    def close(self) -> None:
        self._stop_server()
        self._folder.cleanup()
