"""One side of a comparison on a device: what is written and looked at stays there, and its own clock counts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from kernelevolve.evaluation.device import Device
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.freezer import Window
from kernelevolve.evaluation.looking import all_right
from kernelevolve.evaluation.side import Side
from kernelevolve.evaluation.stock import Feed
from kernelevolve.model.verdict import Outcome

SAMPLE_S = 2e-3
"""A sample has as many calls as fit into this, and as there are slots: what surrounds them is then lost in them."""


class DeviceSide(Side):
    """Every call of a sample finds a slot that nothing in any cache remembers: the caches were emptied after the slots
    were filled, and no slot is called twice."""

    _arena: DeviceArena

    def __init__(self, *, device: Device, **rest: Any) -> None:
        super().__init__(**rest)
        self._device = device

    def calibrate(self, feed: Feed, *, timeout_s: float) -> float:
        self._before()
        rng = random.Random(0)
        first = feed.take(1)
        self._bind(dict.fromkeys(range(self._n_slots + 1), first[0]), timeout_s)
        self._load({self._n_slots: first[0]})  # the decoy: looks like a slot that is about to be called, never is
        self._decoy = first[0]
        self.sample(first, self.slots(rng), timeout_s=timeout_s)
        seconds = min(self.sample(feed.take(1), self.slots(rng), timeout_s=timeout_s) for _ in range(2))
        self.n_calls = max(1, min(self._n_slots, round(SAMPLE_S / max(seconds, 1e-7))))
        return seconds

    def sample(self, draws: Sequence[Draw], order: Sequence[int], *, timeout_s: float) -> float:
        """As in `Side`. A baseline is called on the first slots in order, since it may keep a graph of them."""
        self._before()
        n_calls = max(1, min(self.n_calls, len(draws)))
        slots = list(range(n_calls)) if self._trusted else list(order[:n_calls])
        loaded = dict(zip(slots, draws, strict=False))
        self._bind(loaded, timeout_s)
        self._load(loaded)
        window = self._caller.run(slots, timeout_s=timeout_s)
        if not self._trusted:
            self._check(loaded, window)
        by_device = self._task.objective.clock == "device" and window.device_s is not None
        return (window.device_s if by_device and window.device_s else window.seconds) / n_calls

    def _load(self, wanted: dict[int, Draw]) -> None:
        poison = "poison" in self._defences
        for slot, draw in wanted.items():
            if not self._trusted:
                self._arena.prepare(slot, self._layout, draw.contents, draw.outputs(self._task), poison=poison)
                continue
            for name, data in draw.contents.items():
                self._arena.view(slot, self._layout, name, data.nbytes).copy_(torch.as_tensor(data))
        self._device.synchronize()

    def _check(self, loaded: dict[int, Draw], window: Window) -> None:
        if not all_right(self._task, self._arena, self._layout, loaded, defences=self._defences):
            for slot, draw in loaded.items():
                self._look(slot, draw)
        self.n_checks += len(loaded) * len(self._task.written) if "timed_outputs" in self._defences else 0
        if self._decoy is not None and "decoys" in self._defences and "poison" in self._defences:
            for spec in self._task.outputs:
                held = self._arena.view(self._n_slots, self._layout, spec.name, self._decoy.n_bytes[spec.name])
                if held.numel() and bool((held != 0xFF).any()):
                    raise CandidateFault(Outcome.OUT_OF_BOUNDS, f"wrote {spec.name} of a slot it was not called on")
