"""One side of a comparison on a device: what is written and looked at stays there, and its own clock counts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from kernelevolve.evaluation.arena import POISON
from kernelevolve.evaluation.device import Device
from kernelevolve.evaluation.device_arena import DeviceArena, fill
from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.freezer import Window
from kernelevolve.evaluation.looking import all_right
from kernelevolve.evaluation.side import Side
from kernelevolve.evaluation.stock import Feed
from kernelevolve.evaluation.tensors import gaps
from kernelevolve.model.verdict import Outcome

SAMPLE_S = 2e-3
"""A sample has as many calls as fit into this, and as there are slots: what surrounds them is then lost in them."""


IMAGE_BYTES = 64 * 2**20
"""Slots up to this size are kept filled, to be copied whole."""


class DeviceSide(Side):
    """Every call of a sample finds a slot that nothing in any cache remembers: the caches were emptied after the slots
    were filled, and no slot is called twice."""

    on_device = True
    _arena: DeviceArena
    _held: DeviceArena

    def __init__(self, *, device: Device, **rest: Any) -> None:
        super().__init__(**rest)
        self._device = device
        self._decoys: dict[int, Draw] = {}
        self._masks: dict[tuple[int, ...], torch.Tensor] = {}
        self._has_images = self._layout.n_bytes <= IMAGE_BYTES and self._defences.complete

    def calibrate(self, feed: Feed, *, timeout_s: float) -> float:
        self._before()
        rng = random.Random(0)
        first = feed.take(1)
        self._bind(dict.fromkeys(range(self._n_slots + 1), first[0]), timeout_s)
        self.sample(first, self.slots(rng), timeout_s=timeout_s)
        seconds = min(self.sample(feed.take(1), self.slots(rng), timeout_s=timeout_s) for _ in range(2))
        self.n_calls = max(1, min(self._n_slots, round(SAMPLE_S / max(seconds, 1e-7))))
        return seconds

    def slots(self, rng: random.Random) -> list[int]:
        """One more than can be called: after those that are comes the decoy, another one each time."""
        return rng.sample(range(self._n_slots + 1), self._n_slots + 1)

    def sample(self, draws: Sequence[Draw], order: Sequence[int], *, timeout_s: float) -> float:
        """As in `Side`. A baseline is called on the first slots in order, since it may keep a graph of them."""
        self._before()
        n_calls = max(1, min(self.n_calls, len(draws)))
        slots = list(range(n_calls)) if self._trusted else list(order[:n_calls])
        loaded = dict(zip(slots, draws, strict=False))
        # Where it lies and what is in it no process has seen before: whoever computes slots ahead computes it, too.
        self._decoys = {} if self._trusted else dict(zip(order[n_calls : n_calls + 1], draws[n_calls:], strict=False))
        self._bind(loaded, timeout_s)
        self._load(loaded | self._decoys)
        self._device.synchronize()
        window = self._caller.run(slots, timeout_s=timeout_s)
        if self._trusted:
            self._forget(loaded)
        else:
            self._check(loaded, window)
        by_device = self._task.objective.clock == "device" and window.device_s is not None
        return (window.device_s if by_device and window.device_s else window.seconds) / len(slots)

    def _load(self, wanted: dict[int, Draw]) -> None:
        poison = "poison" in self._defences
        for slot, draw in wanted.items():
            if self._has_images:
                self._arena.slot(slot, self._layout).copy_(self._image(draw))
            else:
                self._arena.prepare(slot, self._layout, draw.contents, draw.outputs(self._task), poison=poison)

    def _image(self, draw: Draw) -> torch.Tensor:
        """A slot with this draw in it, to be copied whole: made once, since a draw meets many candidates."""
        key = (self._layout.n_bytes, *(region.offset for region in self._layout.regions.values()))
        if key not in draw.images:
            made = torch.empty(self._layout.n_bytes, dtype=torch.uint8, device=self._arena.bytes.device)
            fill(made, self._layout, draw.contents, draw.outputs(self._task))
            draw.images[key] = made
        return draw.images[key]

    def _fixed(self, draw: Draw) -> torch.Tensor:
        """0xFF wherever a call must not write."""
        n_bytes = [draw.n_bytes[spec.name] for spec in self._task.written]
        key = (*n_bytes, *(draw.sizes[spec.pitch] for spec in self._task.pitched))
        if key not in self._masks:
            made = torch.full((self._layout.n_bytes,), 0xFF, dtype=torch.uint8, device=self._arena.bytes.device)
            for spec, n in zip(self._task.written, n_bytes, strict=True):
                begin = self._layout.regions[spec.name].offset
                made[begin : begin + n].fill_(0)
                if spec.pitch:
                    gaps(made[begin : begin + n], spec.dtype, draw.inputs[spec.name].shape)[:] = 0xFF
            self._masks[key] = made
        return self._masks[key]

    def _forget(self, loaded: dict[int, Draw]) -> None:
        """What a baseline wrote in place is the answer to content that a candidate is called on next."""
        for slot, draw in loaded.items():
            for spec in self._task.inputs:
                if spec.in_place:
                    self._arena.view(slot, self._layout, spec.name, draw.n_bytes[spec.name]).fill_(POISON)

    def _check(self, loaded: dict[int, Draw], window: Window) -> None:
        images = {slot: self._image(draw) for slot, draw in loaded.items()} if self._has_images else {}
        fixed = {slot: self._fixed(loaded[slot]) for slot in images}
        fine = all_right(
            self._task, self._held, self._layout, loaded, images=images, fixed=fixed, defences=self._defences
        )
        if not fine:
            for slot, draw in loaded.items():
                self._look(slot, draw)
        self.n_checks += len(loaded) * len(self._task.written) if "timed_outputs" in self._defences else 0
        watched = "decoys" in self._defences and "poison" in self._defences
        for slot, draw in self._decoys.items() if watched else ():
            self._check_decoy(slot, draw)

    def _check_decoy(self, slot: int, draw: Draw) -> None:
        if self._is_as_loaded(slot, draw):
            return
        kept = {spec.name: POISON for spec in self._task.outputs}
        kept |= {spec.name: torch.as_tensor(draw.contents[spec.name]) for spec in self._task.inputs if spec.in_place}
        for name, content in kept.items():
            held = self._held.view(slot, self._layout, name, draw.n_bytes[name])
            if held.numel() and bool((held != content).any()):
                raise CandidateFault(Outcome.OUT_OF_BOUNDS, f"wrote {name} of a slot it was not called on")

    def _is_as_loaded(self, slot: int, draw: Draw) -> bool:
        """For certain; where no image is kept nothing is."""
        return self._has_images and torch.equal(self._held.slot(slot, self._layout), self._image(draw))
