"""The judge's end of the baselines' process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelevolve.errors import MachineError
from kernelevolve.evaluation.channel import Arguments, Channel, Ended, Overdue, command
from kernelevolve.evaluation.cores import allowed, on
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.freezer import Freezer, Gone, Moved, Window
from kernelevolve.evaluation.looking import AnyArena
from kernelevolve.evaluation.runner import thread_settings
from kernelevolve.model.task import Task
from kernelevolve.toolchains.process import kill_group

START_TIMEOUT_S = 120.0


class BaselineFailed(Exception):
    """A baseline cannot run this task (torch.compile refuses, say). The others still count."""


class ReferenceServer:
    """One process per task, kept between candidates. Raises MachineError when it dies."""

    def __init__(self, *, task: Task, arena: AnyArena, n_threads: int, cache: Path) -> None:
        self._channel = Channel()
        self._folder = tempfile.TemporaryDirectory(prefix="ke-reference-")
        folder = Path(self._folder.name)
        (folder / "task.json").write_text(task.to_json())
        self._on_device = isinstance(arena, DeviceArena)
        kind = "cuda" if isinstance(arena, DeviceArena) and arena.bytes.is_cuda else "cpu"
        memory = arena.handle if isinstance(arena, DeviceArena) else str(arena.fd)
        inherited = (*self._channel.child_ends, *([arena.fd] if arena.fd is not None else []))
        command = [
            sys.executable, "-m", "kernelevolve.evaluation.reference_server",
            *(str(fd) for fd in self._channel.child_ends), memory, str(arena.n_bytes), str(folder / "task.json"),
            str(folder / "files"), str(n_threads), kind,
        ]  # fmt: skip
        n_compilers = (os.cpu_count() or 1) if self._on_device else 1
        environment = _environment(n_threads, cache, n_compilers=n_compilers)
        with on(allowed(n_threads)):
            self._process = subprocess.Popen(
                command, pass_fds=inherited, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        self._channel.close_child_ends()
        self._freezer = Freezer(self._process.pid, enabled=not self._on_device)
        # By the outside clock both sides pay the same for being woken.
        self._standing = Freezer(self._process.pid)
        self._chosen = ""
        self.bound: dict[int, Arguments] = {}
        self._wait_until_loaded()

    def choose(self, baseline: str) -> None:
        if baseline != self._chosen:
            self._window(f"B {baseline}\n".encode(), 60.0)
            self._chosen = baseline

    def bind(self, slots: Mapping[int, Arguments], *, timeout_s: float) -> None:
        lines = b"".join(arguments.line(slot) for slot, arguments in slots.items())
        self._window(lines + b"T 0 \n", timeout_s)
        self.bound |= slots

    def touch(self, slots: Sequence[int], *, timeout_s: float) -> None:
        self._window(command("T", slots), timeout_s)

    def run(self, slots: Sequence[int], *, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        if not self._on_device:
            return self._window(command("R", slots), timeout_s, glance)
        self._window(command("T", slots), timeout_s)
        window = self._window(command("R", slots), timeout_s)
        return replace(window, device_s=float(window.reply.split()[3]) / 1e6)

    def ready(self, slots: Sequence[int], *, timeout_s: float) -> None:
        self._window(command("C", slots), timeout_s)

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        """It stands still before and after, as a candidate's process does; no slots: the empty round trip."""
        line = command("O", slots)
        with self._blaming(timeout_s):
            self._standing.halt()
            window = self._channel.outside(line, self._standing, timeout_s=timeout_s, look=look)
            if not self._freezer.enabled:
                self._standing.wake()
        return self._answered(window)

    @property
    def core(self) -> int | None:
        return self._freezer.core

    def close(self) -> None:
        if self._process.poll() is None:
            kill_group(self._process.pid)
        self._process.wait()
        self._channel.close()
        self._folder.cleanup()

    def _window(self, line: bytes, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        """One stretch of running, by the same freezer as a candidate's: both sides pay the same for waking up."""
        with self._blaming(timeout_s):
            window = self._channel.timed(line, self._freezer, timeout_s=timeout_s, glance=glance)
        return self._answered(window)

    @contextmanager
    def _blaming(self, timeout_s: float) -> Iterator[None]:
        try:
            yield
        except Overdue:
            self.close()
            raise BaselineFailed(f"no answer within {timeout_s:.0f} s") from None
        except Moved as error:  # nothing in it wakes itself: then this kernel's account is not to be trusted
            raise MachineError(f"the baselines' process {error}") from None
        except (Ended, Gone):
            raise MachineError(f"the baselines' process ended ({self._process.poll()})") from None

    @staticmethod
    def _answered(window: Window) -> Window:
        if window.reply.startswith("X"):
            raise BaselineFailed(window.reply[2:])
        return window

    def _wait_until_loaded(self) -> None:
        try:
            self._channel.receive(timeout_s=START_TIMEOUT_S)
            self._freezer.halt()
        except (Ended, Overdue, Gone) as error:
            self.close()
            raise MachineError("the baselines' process did not start; is torch installed?") from error


def _environment(n_threads: int, cache: Path, *, n_compilers: int) -> dict[str, str]:
    """Warm allocator (no page faults per call: candidates get theirs from the judge); no helper processes where they
    would run beside what is timed."""
    kept = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "PYTHONPATH")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= {
        **thread_settings(n_threads),
        "MKL_NUM_THREADS": str(n_threads),
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(2**40),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TORCHINDUCTOR_COMPILE_THREADS": str(n_compilers),
        # They go to the folder for temporary files, which ends with the judge: made again each time, they take longer
        # than they save on a task's few kernels, and those are kept.
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "PYTHONHASHSEED": "0",
    }
    return environment
