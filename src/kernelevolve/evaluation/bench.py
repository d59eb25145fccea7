"""A Bench: one task made ready to judge any number of candidates. Lives in the judge's process only.

It holds the exam, which a candidate must never see, the memory that all sides of a comparison work in, and the
processes in which the baselines run.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kernelevolve.errors import MachineError, TaskError
from kernelevolve.evaluation.arena import Arena
from kernelevolve.evaluation.channel import Caller
from kernelevolve.evaluation.cuda_runner import CudaRunner, cuda_runner_binary
from kernelevolve.evaluation.defences import ALL, Defences
from kernelevolve.evaluation.device import CudaDevice, Device
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.device_side import DeviceSide
from kernelevolve.evaluation.exam import Exam
from kernelevolve.evaluation.fault import StrangeWork
from kernelevolve.evaluation.looking import AnyArena
from kernelevolve.evaluation.outside_side import OutsideSide, Snapshot, n_decoys
from kernelevolve.evaluation.reference import BaselineFailed, ReferenceServer
from kernelevolve.evaluation.side import Side, nothing
from kernelevolve.evaluation.spares import Spares
from kernelevolve.model.task import Shape, Task
from kernelevolve.model.verdict import Verdict

READY_PAIRS = 8
"""How many samples' worth of draws are made before the first candidate is timed; more are made when wanted."""
ROOMY_BYTES = 24 * 2**20
"""An arena is at least this large: the next level's shapes then fit, and the baselines need not be compiled again."""
COMPILE_TIMEOUT_S = 300.0
NOTE_CHARACTERS = 200
BUSY_DEVICE = "somebody else uses this GPU, so nothing can be timed on it from outside"
SETTLE_LOOKS, N_LOOKS, LOOK_PAUSE_S = 60, 20, 0.05
"""Watches until the device is quiet after a process has gone, then those that must all find it quiet."""


class Bench:
    def __init__(
        self, task: Task, *, n_threads: int, cache: Path, defences: Defences = ALL, device: Device | None = None
    ) -> None:
        """`device`: the one that the task's platform has, unless a test gives another."""
        torch.set_num_threads(n_threads)
        self.defences = defences
        self.task = task
        self.n_threads = n_threads
        self._cache = cache
        self._folder = tempfile.TemporaryDirectory(prefix="ke-task-")
        self._device = device or (CudaDevice() if task.platform == "cuda" else None)
        self.exam = Exam(task, Path(self._folder.name), defences=defences, device=self._device)
        self._spares: Spares | None = None
        self._reference: ReferenceServer | None = None
        self._arena: AnyArena | None = None
        self._sides: dict[tuple[str, str, bool], Side] = {}
        self._snapshot: Snapshot | None = None
        self._empty_s: dict[str, float] = {}
        self.baseline_notes: dict[str, str] = {}
        self._fastest: dict[str, str] = {}
        self.twins: dict[str, Verdict] = {}
        """Verdicts of this secret by the machine code they are about."""

    def use(self, secret: str) -> None:
        """Draw from this secret from now on; the baselines' process and what it compiled stay."""
        if self.exam.use(secret):
            self.twins.clear()
            self._sides.clear()

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
            side.calibrate(self.exam.feed(shape), timeout_s=COMPILE_TIMEOUT_S)
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
        layout, n_slots = self.exam.layout(shape)
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
            self._empty_s[key] = side.empty(self.exam.feed(shape), timeout_s=COMPILE_TIMEOUT_S)
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
        return tuple(dict.fromkeys((*names, *self.exam.module.arms)))

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
            draws = [self.exam.stock(shape)[0]]
            speeds = {
                side.name: min(side.sample(draws, side.slots(rng), timeout_s=60.0) for _ in range(3)) for side in sides
            }
            self._fastest[key] = min(speeds, key=lambda name: speeds[name])
        return next((side for side in sides if side.name == self._fastest.get(key, side.name)), None)

    def prepare(self, level: str, baselines: tuple[str, ...]) -> None:
        """Draw, compute answers, start and compile the baselines: once, outside any candidate's account."""
        self.exam.check_draws(level)
        self.exam.rolled()
        if level != "check":
            for shape in self.exam.shapes(level):
                side = self.fastest(baselines, shape, level)
                if side is not None:
                    self.exam.stock(shape)[READY_PAIRS * side.n_calls]

    def prepare_outside(self, level: str, baselines: tuple[str, ...]) -> None:
        """The same for the outside clock, while no process of a candidate is there. Raises MachineError: what the
        device does besides is nobody's here."""
        if self._spares is not None:
            self._spares.settle()  # one that still starts would look like somebody else's work
        _, arena = self._server(level)
        self._until_quiet()  # the last candidate's process may still be cleared away
        try:
            for shape in self.exam.shapes(level):
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
        needed = self.exam.needed_bytes(level)
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
