"""The judge's end of a child that runs calls: bind arguments to slots, run slots, and hold the only clock."""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import Field

from kernelevolve.evaluation.freezer import Freezer, Window
from kernelevolve.model.value import Value

PIPE_BYTES = 2**20
SETTLE_S = 5e-5
"""How much later than the judge's look at the memory the child may say that it is done, for that look to count. A child
whose work was over before it has said so by then; one that was interrupted on the device for the look needs longer."""
QUEUED = "L"


class Arguments(Value):
    """One slot's arguments: byte offsets of its tensors in the arena, integer scalars then axes, real scalars."""

    start: int = Field(description="where the slot begins")
    n_bytes: int = Field(description="how far it reaches")
    offsets: tuple[int, ...]
    integers: tuple[int, ...]
    reals: tuple[float, ...]

    def line(self, slot: int) -> bytes:
        parts: list[str] = [f"A {slot} {self.start} {self.n_bytes}"]
        for group in (self.offsets, self.integers, self.reals):
            parts.append(str(len(group)))
            parts += [repr(item) for item in group]
        return (" ".join(parts) + "\n").encode()


def command(verb: str, slots: Sequence[int]) -> bytes:
    """A line of the protocol that all these children speak: what to do on how many slots, and which."""
    return f"{verb} {len(slots)} {' '.join(map(str, slots))}\n".encode()


class Caller(Protocol):
    """Something that runs calls on slots of an arena: a candidate's runner or the reference server."""

    bound: dict[int, Arguments]
    """What each slot was bound to last, by whomever."""

    def bind(self, slots: Mapping[int, Arguments], *, timeout_s: float) -> None:
        """Tell the child where the arguments of these slots lie, and note it in `bound`. The content may come later."""
        ...

    def touch(self, slots: Sequence[int], *, timeout_s: float) -> None:
        """Read the slots' pages in the child, so that no timed call is the first to map them."""
        ...

    def run(self, slots: Sequence[int], *, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        """Call once per slot, in order. The child stands still before and after. `glance`: see `Freezer.window`."""
        ...

    def ready(self, slots: Sequence[int], *, timeout_s: float) -> None:
        """Make a graph of the call on each of these slots where there is none yet: `outside` then only replays it."""
        ...

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        """Call once per slot by the outside clock; see `Channel.outside`."""
        ...

    @property
    def core(self) -> int | None:
        """The processor on which the child's main thread runs."""
        ...


class Ended(Exception):
    """The child closed its reply pipe."""


class Overdue(Exception):
    """No reply within the limit."""


class Channel:
    """A control pipe to the child and a reply pipe back."""

    def __init__(self) -> None:
        self._control_read, self.control = os.pipe()
        self.reply, self._reply_write = os.pipe()
        fcntl.fcntl(self.control, fcntl.F_SETPIPE_SZ, PIPE_BYTES)  # commands wait in it while the child stands still
        self._text = b""

    @property
    def child_ends(self) -> tuple[int, int]:
        return self._control_read, self._reply_write

    def close_child_ends(self) -> None:
        os.close(self._control_read)
        os.close(self._reply_write)

    def close(self) -> None:
        os.close(self.control)
        os.close(self.reply)

    def send(self, line: bytes) -> None:
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(self.control, view) :]
        except BrokenPipeError as error:
            raise Ended from error

    def receive(self, *, timeout_s: float) -> str:
        """One line. Raises Ended or Overdue."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.reply], [], [], left)[0]:
                raise Overdue
            data = os.read(self.reply, 4096)
            if not data:
                raise Ended
            self._text += data
            if len(self._text) > 65536 and b"\n" not in self._text:
                raise Ended  # nothing we wrote is that long: treat a flood as a broken child
        line, _, self._text = self._text.partition(b"\n")
        return line.decode(errors="replace")

    def timed(
        self, line: bytes, freezer: Freezer, *, timeout_s: float, glance: Callable[[], Any] | None = None
    ) -> Window:
        """Put a command into the pipe, wake the child, wait for its reply, stop the child."""
        if self._text or select.select([self.reply], [], [], 0)[0]:
            raise Ended  # an answer before the question
        if freezer.enabled:
            self.send(line)

        def answer() -> str:
            if not freezer.enabled:  # it runs as soon as it can read: then the clock must run already
                self.send(line)
            return self.receive(timeout_s=timeout_s)

        return freezer.window(answer, glance)

    def outside(
        self, line: bytes, freezer: Freezer, *, timeout_s: float, look: Callable[[], None]
    ) -> Window:  # fmt: skip
        """A call of host code that works on a device. The child says `QUEUED` when the device has been given everything
        and works for it, and then, in its own time, that it is done. `look` takes what counts of the memory and waits
        until it has it. That happens at once, so saying `QUEUED` early gains nothing: what the device writes afterwards
        is not in it. When the child is done it happens again: an engine that only copies works beside the judge, so
        an honest call may have ended a little later. `seconds`: from the wake-up to the end of the first look, where
        the child was done soon after; `open_s`: to the end of the last one, for who finds that it differs."""
        if self._text or select.select([self.reply], [], [], 0)[0]:
            raise Ended  # an answer before the question
        if freezer.enabled:
            self.send(line)
            freezer.stood()
        started = time.perf_counter_ns()
        if freezer.enabled:
            freezer.wake()
        else:
            self.send(line)
        reply = self.receive(timeout_s=timeout_s)
        look()
        ended = last = time.perf_counter_ns()
        if reply == QUEUED:
            was_done = True
            try:
                reply = self.receive(timeout_s=SETTLE_S)
            except Overdue:
                was_done = False
                reply = self.receive(timeout_s=max(timeout_s - (ended - started) / 1e9, SETTLE_S))
            look()
            last = time.perf_counter_ns()
            ended = ended if was_done else last
        if freezer.enabled:
            freezer.halt()
        return Window(reply=reply, seconds=(ended - started) / 1e9, cpu_s=0.0, open_s=(last - started) / 1e9)
