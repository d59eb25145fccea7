"""A device-code candidate's process: all of its host code is ours, so it is not jailed, only killed whole.

The tensors lie in the judge's own device memory, which this process maps. What the clock sees is our launches, as one
graph where the device's clock counts, and the wait for the device.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from kernelevolve.errors import MachineError
from kernelevolve.evaluation import cuda_arguments
from kernelevolve.evaluation.candidate_process import START_TIMEOUT_S, CandidateProcess, compiled
from kernelevolve.evaluation.channel import Arguments, Channel, Ended, Overdue, command
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.freezer import Freezer, Gone, Window
from kernelevolve.evaluation.launch import CudaLaunch
from kernelevolve.model.job import Limits
from kernelevolve.model.task import Objective
from kernelevolve.model.verdict import Outcome
from kernelevolve.toolchains.process import kill_group

READY_TIMEOUT_S = 60.0
GONE_TIMEOUT_S = 60.0
"""A driver may need seconds to take the device away from a kernel that does not end."""
CLOCK_SHARE = 0.9
"""The judge's clock runs around the device's, so it may not show less; one tenth for their grain."""
LONG_S, LONG_FACTOR = 0.1, 3.0
"""A call this long has no other cost worth naming: the device's own clock must account for a good part of it."""
UNREADABLE = "the machine code cannot be read"
"""Said by our own process of a file that we have written: no fault of a candidate's."""
OWN_CLOCK = "device code has a clock of its own"
_OUTCOMES = {"refused": Outcome.REFUSED, "crashed": Outcome.CRASHED}


def cuda_runner_binary(cache: Path, compiler: str) -> Path:
    """The compiled runner. Raises MachineError."""
    return compiled("ke-cuda-runner", ("cuda_runner.cpp", "cuda_driver.h"), cache=cache, compiler=compiler)


class CudaRunner(CandidateProcess):
    """Use as a context manager, with what to launch `given` before. Methods raise CandidateFault when the candidate is
    to blame, MachineError when the device is. After either the process is of no more use."""

    def __init__(self, *, binary: Path, arena: DeviceArena, objective: Objective) -> None:
        super().__init__()
        self._launch: CudaLaunch | None = None
        self._limits = Limits()
        self._channel = Channel()
        named = (*self._channel.child_ends, self._log)
        command = [
            str(binary), *(str(fd) for fd in named), arena.handle, str(arena.n_bytes),
            str(int(objective.cache == "cold")), str(int(objective.clock == "device")),
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, pass_fds=named, env=_environment(), cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._channel.close_child_ends()
        self._freezer = Freezer(self._process.pid, enabled=False)  # nothing in it can poll or finish late
        self._ready = False

    def given(self, launch: CudaLaunch, limits: Limits) -> Self:
        self._launch, self._limits = launch, limits
        return self

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """The device is open and nothing of a candidate is there yet. Raises MachineError."""
        if self._ready:
            return
        try:
            first = self._channel.receive(timeout_s=START_TIMEOUT_S)
        except (Ended, Overdue) as error:
            raise MachineError("the runner for device code did not start; see kernelevolve doctor") from error
        if not first.startswith("I"):
            raise MachineError(f"no GPU to run this on: {first.removeprefix('M ')}")
        self.isolation = tuple(first.removeprefix("I").split())
        self._ready = True

    def _start(self) -> None:
        self.wait_until_ready()
        assert self._launch is not None
        words = [word for kernel in self._launch.kernels for word in (str(kernel[0]), kernel[1])]
        with self._blaming(self._limits.call_s, "while it was loaded"):
            self._channel.send(("K\t" + "\t".join(words) + "\n").encode())
            answer = self._channel.receive(timeout_s=self._limits.call_s)
        if answer == f"F {UNREADABLE}":
            raise MachineError(f"{UNREADABLE} where it was put: {', '.join(sorted(set(words[::2])))}")
        if answer != "L":
            raise CandidateFault(Outcome.LOAD_FAILED, answer.removeprefix("F ") or "the code could not be loaded")

    def bind(self, slots: Mapping[int, Arguments], *, timeout_s: float) -> None:
        launch = self._launch
        assert launch is not None
        lines = b"".join(
            cuda_arguments.line(slot, arguments, launch.plan, launch.task, memory_bytes=self._limits.memory_bytes)
            for slot, arguments in slots.items()
        )
        self._command(lines, "T", (), timeout_s)
        self.bound |= slots

    def touch(self, slots: Sequence[int], *, timeout_s: float) -> None:
        """The device's memory is there."""

    def run(self, slots: Sequence[int], *, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        """No glance: when the device stands still nothing of the candidate runs, and nothing can change any more."""
        self._command(b"", "U", slots, READY_TIMEOUT_S)
        window = self._command(b"", "R", slots, timeout_s)
        device_s = float(window.reply.split()[3]) / 1e6
        if (dispute := clock_dispute(window.seconds, device_s)) is not None:
            raise CandidateFault(Outcome.CLOCK_DISPUTED, dispute)
        return replace(window, device_s=device_s)

    def ready(self, slots: Sequence[int], *, timeout_s: float) -> None:
        raise MachineError(OWN_CLOCK)

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        raise MachineError(OWN_CLOCK)

    @property
    def core(self) -> int | None:
        return self._freezer.core

    def close(self) -> None:
        if self._process.poll() is None:
            kill_group(self._process.pid)
        try:
            self._process.wait(timeout=GONE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise MachineError(f"the driver does not end a killed process within {GONE_TIMEOUT_S:.0f} s") from None
        finally:
            self._channel.close()
            os.close(self._log)

    def _command(self, before: bytes, verb: str, slots: Sequence[int], timeout_s: float) -> Window:
        text = before + command(verb, slots)
        with self._blaming(timeout_s, "in a call", machine=verb == "U"):
            window = self._channel.timed(text, self._freezer, timeout_s=timeout_s)
        match window.reply.split(maxsplit=2):
            case ["D", done, _] if done == str(len(slots)):
                return window
            case ["X", "machine", what]:
                raise MachineError(f"the device failed: {what}")
            case ["X", kind, what] if kind in _OUTCOMES:
                raise CandidateFault(_OUTCOMES[kind], what)
        raise MachineError(f"the runner for device code answered {window.reply[:80]!r}")

    @contextmanager
    def _blaming(self, timeout_s: float, when: str, *, machine: bool = False) -> Iterator[None]:
        """Silence or an end while the candidate's code runs is its fault, else the device's."""
        try:
            yield
        except Overdue:
            if machine:
                raise MachineError(f"the device was not made ready within {timeout_s:.0f} s") from None
            raise CandidateFault(Outcome.TIMEOUT, f"no answer within {timeout_s:.1f} s {when}; killed") from None
        except (Ended, Gone):
            if machine:
                raise MachineError("the runner for device code ended while it made the device ready") from None
            raise CandidateFault(
                Outcome.CRASHED, f"the process that launches ended ({self._ending()}) {when}"
            ) from None

    def _ending(self) -> str:
        try:
            code = self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            return "it still runs"
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def clock_dispute(judge_s: float, device_s: float) -> str | None:
    """What the two clocks disagree about; None when they do not."""
    words = f"the device's clock says {device_s * 1e6:.0f} us, the judge's {judge_s * 1e6:.0f} us"
    if judge_s < CLOCK_SHARE * device_s:
        return f"{words}: it cannot be inside"
    if judge_s > LONG_S and judge_s > LONG_FACTOR * device_s + LONG_S:
        return f"{words}: most of the time went elsewhere"
    return None


def _environment() -> dict[str, str]:
    kept = {key: os.environ[key] for key in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES") if key in os.environ}
    fixed = {"CUDA_MODULE_LOADING": "EAGER", "CUDA_CACHE_DISABLE": "1"}
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **kept, **fixed}
