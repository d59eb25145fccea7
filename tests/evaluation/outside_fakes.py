"""What stands in for a GPU and for those that are timed on it by the outside clock."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelevolve.evaluation.channel import Arguments, Channel
from kernelevolve.evaluation.device import HostDevice, host_path
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.freezer import Freezer, Window

SHAPE = {"R": 300, "C": 257}
GOOD = "import torch\n\ndef row_scale(x, w, y, R, C):\n    torch.mul(x, w, out=y)\n    y += 1\n"
CHILD = """
import mmap, os, sys, time
import numpy as np
control, reply, path, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
file = os.open(path, os.O_RDWR)
memory = np.frombuffer(mmap.mmap(file, os.fstat(file).st_size), dtype=np.uint8)[2**20:]
slots = {}

def say(text):
    os.write(reply, text.encode())

def call(slot):
    (x, w, y), R, C = slots[slot]
    at = lambda offset, n: memory[offset : offset + 4 * n].view(np.float32)
    at(y, R * C).reshape(R, C)[:] = at(x, R * C).reshape(R, C) * at(w, C) + np.float32(1)

for line in os.fdopen(control):
    verb, words = line[0], line[1:].split()
    if verb == "A":
        slots[int(words[0])] = ([int(word) for word in words[4:7]], int(words[8]), int(words[9]))
        continue
    order = [int(word) for word in words[1:]]
    done = f"D {len(order)} 0\\n"
    if verb == "O" and kind == "late":
        say("L\\n" + done)
        time.sleep(0.05)
        call(order[0])
        continue
    if verb == "O":
        if kind == "early":
            say("L\\n")
            time.sleep(0.05)
        call(order[0])
        other = min(set(slots) - set(order), default=-1)
        if kind == "decoy":
            call(other)
        if kind in ("input", "decoys_input"):
            memory[slots[order[0] if kind == "input" else other][0][0] + 40] ^= 1
        if kind != "early":
            say("L\\n")
    say(done)
"""


class Scripted:
    """A caller with a real process behind it that does what `kind` says."""

    core = None

    def __init__(self, arena: DeviceArena, kind: str) -> None:
        self.bound: dict[int, Arguments] = {}
        self.readied: list[list[int]] = []
        self._channel = Channel()
        path = host_path(arena.handle)
        command = [sys.executable, "-c", CHILD, *map(str, (*self._channel.child_ends, path, kind))]
        self._process = subprocess.Popen(command, pass_fds=self._channel.child_ends)
        self._channel.close_child_ends()
        self._freezer = Freezer(self._process.pid)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._channel.close()

    def bind(self, slots: Mapping[int, Arguments], *, timeout_s: float) -> None:
        lines = b"".join(arguments.line(slot) for slot, arguments in slots.items())
        self._channel.timed(lines + b"T 0 \n", self._freezer, timeout_s=timeout_s)
        self.bound |= slots

    def touch(self, slots: Sequence[int], *, timeout_s: float) -> None:
        return

    def run(self, slots: Sequence[int], *, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        raise NotImplementedError

    def ready(self, slots: Sequence[int], *, timeout_s: float) -> None:
        self.readied.append(list(slots))

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        line = f"O {len(slots)} {' '.join(map(str, slots))}\n".encode()
        return self._channel.outside(line, self._freezer, timeout_s=timeout_s, look=look)


class Clockwork(Scripted):
    """An honest process, and a clock that says what it is told to."""

    def __init__(self, arena: DeviceArena, seconds: float) -> None:
        super().__init__(arena, "honest")
        self._seconds = seconds

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        return replace(super().outside(slots, timeout_s=timeout_s, look=look), seconds=self._seconds)


class Tail(Scripted):
    """What it writes comes after the first look at the memory and before the last one, as where the last part of a call
    is a plain copy."""

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        look()
        window = super().outside(slots, timeout_s=timeout_s, look=lambda: None)
        look()
        return replace(window, seconds=1e-3, open_s=0.5)


class Roomy(HostDevice):
    """With so large a cache that there is room for all decoys."""

    l2_bytes = 2**20


class Gaps:
    """What the next watches will have seen."""

    worst_ns = 0
    n_left = 10**9
    coming: Sequence[int] = ()
    """Before anything else, one each."""

    def __call__(self) -> int:
        if self.coming:
            first, *self.coming = self.coming
            return first
        self.n_left -= 1
        return self.worst_ns if self.n_left >= 0 else 64

    def forget(self) -> None:
        self.worst_ns, self.n_left, self.coming = 0, 10**9, ()
