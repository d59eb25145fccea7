"""One side of a comparison whose host code is timed on a device: one call a sample, by the judge's clock alone.

Nothing that process says counts. What counts is what lies in memory when the clock stops, and that the device did
nothing for it before the clock ran.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.device_side import DeviceSide
from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.fault import StrangeWork
from kernelevolve.evaluation.looking import look
from kernelevolve.evaluation.stock import Feed
from kernelevolve.evaluation.strangers import others_running

MAX_DECOYS = 7
"""Slots that look like the one that is called: who computes what it finds has eight times the work."""
LOADED_BYTES = 256 * 2**20
"""About as much is loaded for one call; where slots are large there are fewer decoys, and at least one."""
N_EMPTY = 9
READY_FACTOR = 2
"""How many calls' limit making all graphs ready may take: what compiles, compiles once."""
SHORTEST_S = 1e-7
RESOLUTION = 0.15
"""Of an empty round trip: what is left of a call when that is taken off says nothing where it is less. Both sides are
said to take as long then, or a trip that happened to be quick would be a call that took no time."""

TURNS_S, HOST_BYTES_PER_S = 3e-4, 128e9
"""An empty trip has two turns between processes in it (0.14 ms each on an H200), which nobody needs who only copies and
computes on the host. What could go there and back in that time (PCIe 5.0, both ways at once) may have: a call on as
little is said to take no less."""


def n_decoys(slot_bytes: int) -> int:
    return max(1, min(MAX_DECOYS, LOADED_BYTES // max(slot_bytes, 1) - 1))


class Snapshot(DeviceArena):
    """What slots of an arena held at one moment, in memory of the judge's that nobody else has mapped; looked at as the
    arena itself would be. Its margins are the arena's own: they only tell."""

    def __init__(self, arena: DeviceArena) -> None:
        self._of = arena
        self.n_bytes = 0
        self.bytes = self._before = torch.empty(0, dtype=torch.uint8, device=arena.bytes.device)

    def make_room(self, n_bytes: int) -> None:
        """For the first `n_bytes` of the arena. What was taken before is lost."""
        if self.n_bytes < n_bytes:
            self.close()
            self.bytes, self._before = (
                torch.zeros(n_bytes, dtype=torch.uint8, device=self._of.bytes.device) for _ in range(2)
            )
            self.n_bytes = n_bytes

    def take(self, n_bytes: int) -> None:
        """Not waited for. By a kernel: whatever computes takes turns with other processes, so this comes after what one
        of them has begun; an engine that only copies would work beside it."""
        self.bytes, self._before = self._before, self.bytes
        torch.bitwise_or(self._of.bytes[:n_bytes].view(torch.int64), 0, out=self.bytes[:n_bytes].view(torch.int64))

    def differs(self, n_bytes: int) -> bool:
        """From what was taken the time before."""
        return not torch.equal(self.bytes[:n_bytes].view(torch.int64), self._before[:n_bytes].view(torch.int64))

    def margins_hold(self) -> torch.Tensor:
        return self._of.margins_hold()

    def wipe(self) -> None:
        self.bytes.fill_(0)

    def close(self) -> None:
        self.bytes = self._before = torch.empty(0, dtype=torch.uint8, device=self._of.bytes.device)
        self.n_bytes = 0


class OutsideSide(DeviceSide):
    """`n_slots`: of decoys; one more is called. All of them get fresh content for every sample.

    `empty_s`: what a round trip without a call costs, taken off every call of every side alike."""

    outside = True

    def __init__(self, *, snapshot: Snapshot, empty_s: float = 0.0, **rest: Any) -> None:
        super().__init__(**rest)
        self._held: Snapshot = snapshot
        self._empty_s = empty_s
        self._n_bytes = (self._n_slots + 1) * self._layout.n_bytes
        self._warm: Draw | None = None
        self._is_ready = False
        snapshot.make_room(self._n_bytes)

    @property
    def n_draws(self) -> int:
        return self._n_slots + 1

    @property
    def _least_s(self) -> float:
        hidden_s = TURNS_S if self._layout.n_bytes < TURNS_S * HOST_BYTES_PER_S else 0.0
        return max(min(hidden_s, self._empty_s), RESOLUTION * self._empty_s, SHORTEST_S)

    def calibrate(self, feed: Feed, *, timeout_s: float) -> float:
        """One call is a sample; what runs for the first time runs here."""
        self._before()
        self._warm_up(feed.take(1)[0])
        seconds = [
            self.sample(feed.take(2), self.slots(random.Random(seed)), timeout_s=timeout_s) for seed in range(3)
        ]  # fmt: skip
        return min(seconds[1:])

    def sample(self, draws: Sequence[Draw], order: Sequence[int], *, timeout_s: float) -> float:
        """Seconds of one call on the first of `draws`, in the first slot of `order`; the other draws are decoys'."""
        self._before()
        wanted = dict(zip(order, draws, strict=False))
        slot, loaded = order[0], {order[0]: draws[0]}
        self._decoys = {} if self._trusted else {at: draw for at, draw in wanted.items() if at != slot}
        self._make_ready(loaded if self._trusted else wanted, timeout_s)
        self._load_watched(wanted)
        window = self._caller.outside([slot], timeout_s=timeout_s, look=self._take)
        # What was still being written at the first look is there in the last one, and takes until then.
        seconds = window.open_s if self._held.differs(self._n_bytes) else window.seconds
        if self._trusted:
            self._forget(loaded)
        else:
            self._check(loaded, window)
        return max(seconds - self._empty_s, self._least_s)

    def empty(self, feed: Feed, *, timeout_s: float) -> float:
        """Seconds of a round trip like a call's, without a call: the shortest of several, so that what is taken off is
        rather too little than too much."""
        draw = feed.take(1)[0]
        self._warm_up(draw)
        return min(self._empty_trip(draw, timeout_s) for _ in range(N_EMPTY + 1))

    def _empty_trip(self, draw: Draw, timeout_s: float) -> float:
        self._load_watched(dict.fromkeys(range(self._n_slots + 1), draw))
        return self._caller.outside([], timeout_s=timeout_s, look=self._take).seconds

    def _warm_up(self, draw: Draw) -> None:
        """Everything that is done within a watch, without one: code that runs for the first time is loaded, which may
        wait for the whole device, and memory is taken."""
        self._warm = draw
        self._fill(dict.fromkeys(range(self._n_slots + 1), draw))
        self._take()

    def _make_ready(self, wanted: dict[int, Draw], timeout_s: float) -> None:
        """Bindings and graphs, before there is anything to be computed. All slots alike, so that the process does not
        learn which one is called. What lies there meanwhile is content that is called on nowhere, since making a graph
        ready runs the call."""
        lines = {slot: draw.arguments(self._task, self._layout, slot) for slot, draw in wanted.items()}
        is_new = any(self._caller.bound.get(slot) != line for slot, line in lines.items())
        if self._is_ready and not is_new and not self._trusted:
            return
        assert self._warm is not None
        every = wanted if self._task.varies or self._trusted else dict.fromkeys(range(self._n_slots + 1), self._warm)
        self._load(dict.fromkeys(every, self._warm))
        self._device.synchronize()
        self._bind(every | wanted, timeout_s)
        if not self._task.varies:  # else what lies there does not fit, and no graph would be used twice
            self._caller.ready(sorted(every), timeout_s=READY_FACTOR * timeout_s)
        self._is_ready = True

    def _load_watched(self, wanted: dict[int, Draw]) -> None:
        """From here to the call the judge keeps the device busy. Raises StrangeWork."""
        self.strangers.append(others_running())
        for draw in wanted.values() if self._has_images else ():
            self._image(draw)  # takes memory, which may wait for the device
        self._flush()  # so does this, where the memory it took the last time has gone to others since
        with self._device.watched() as watch:
            self._fill(wanted)
        if watch.n_gaps:
            raise StrangeWork(watch.worst_gap_ns)

    def _fill(self, wanted: dict[int, Draw]) -> None:
        """The one that is called last: in a warm cache it is there, as far as it fits."""
        self._load(dict(reversed(wanted.items())))
        self._flush()

    def _flush(self) -> None:
        if self._task.objective.cache == "cold":
            self._device.flush()

    def _check_decoy(self, slot: int, draw: Draw) -> None:
        """Its bands and inputs as well: the whole slot is there, as it was at the moment that counts."""
        if self._is_as_loaded(slot, draw):
            return
        super()._check_decoy(slot, draw)
        where = " of a slot it was not called on"
        look(self._task, self._held, self._layout, slot, draw, when=where, defences=self._defences, outputs=False)

    def _take(self) -> None:
        self._held.take(self._n_bytes)
        self._device.synchronize()
