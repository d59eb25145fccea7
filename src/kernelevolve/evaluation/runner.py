"""A candidate's process: started, bound to its arena, called, and killed whole."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelevolve.errors import MachineError
from kernelevolve.evaluation.arena import Arena
from kernelevolve.evaluation.candidate_process import START_TIMEOUT_S, CandidateProcess, compiled
from kernelevolve.evaluation.channel import Arguments, Channel, Ended, Overdue, command
from kernelevolve.evaluation.cores import allowed, on
from kernelevolve.evaluation.defences import ALL, Defences
from kernelevolve.evaluation.device import HANDLE_BYTES, host_path
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.freezer import Freezer, Gone, Moved, Window, grandchild
from kernelevolve.evaluation.launch import Launch
from kernelevolve.evaluation.python_device import FAULTED, RAISED, RETURNED
from kernelevolve.evaluation.template import Started, Templates
from kernelevolve.model.job import Limits
from kernelevolve.model.verdict import Outcome
from kernelevolve.toolchains.confine import NO_EARLY_THREADS
from kernelevolve.toolchains.process import kill_group


def thread_settings(n_threads: int) -> dict[str, str]:
    """The same for both sides. Threads stay on their cores: unbound, the scheduler at times puts two of one team on one
    core, and a call takes several times as long. Idle ones soon stop spinning: libgomp's default would burn the other
    side's core for milliseconds after each call."""
    return {"OMP_NUM_THREADS": str(n_threads), "OMP_PROC_BIND": "true", "GOMP_SPINCOUNT": "10000"}


def runner_binary(cache: Path, compiler: str) -> Path:
    """The compiled runner. Raises MachineError."""
    return compiled("ke-runner", ("runner.cpp",), cache=cache, compiler=compiler)


INTERPRETER = (sys.executable, "-I", "-B", "-m", "kernelevolve.evaluation.python_runner")
NO_LIMIT = 2**64 - 1
GONE_TIMEOUT_S = 60.0
"""A driver may need seconds to take the device away from work that does not end."""
_DEVICE_KEYS = ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME")
_FAULTED = str(FAULTED)


def lent(arena: Arena | DeviceArena) -> tuple[int | None, str]:
    """(a descriptor to hand on, then to close; the handle) by which a process that sees no other one maps the arena."""
    if not isinstance(arena, DeviceArena):
        return None, ""
    if (path := host_path(arena.handle)) is None:
        return None, arena.handle
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    return file, f"/proc/self/fd/{file}".encode().ljust(HANDLE_BYTES, b"\0").hex()


def device_settings() -> dict[str, str]:
    """What programs need that a module starts: compilers, and the loader of the device's libraries."""
    kept = {key: os.environ[key] for key in _DEVICE_KEYS if key in os.environ}
    folders = (
        f"{sys.prefix}/bin",
        f"{kept.get('CUDA_HOME', '/usr/local/cuda')}/bin",
        "/usr/local/bin",
        "/usr/bin",
        "/bin",
    )
    return {**kept, "PATH": ":".join((*folders, "/usr/sbin", "/sbin"))}


def interpreter_paths() -> str:
    """Where an interpreter of ours finds itself, its packages and this one; some people keep those below /tmp."""
    here = Path(__file__).resolve().parents[2]
    return ":".join(dict.fromkeys(f"{path}/" for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, here)))


class Runner(CandidateProcess):
    """One candidate in its own process, pid namespace and jail. Use as a context manager: leaving kills it whole.

    Methods raise CandidateFault when the candidate is to blame. On an arena of a device it is a Python module that may
    start programs, and calls can also be timed from outside.
    """

    def __init__(
        self, *, binary: Path, launch: Launch, arena: Arena | DeviceArena, limits: Limits, n_threads: int,
        defences: Defences = ALL, templates: Templates | None = None,
    ) -> None:  # fmt: skip
        """`templates`: to fork an interpreter from, where there is one in it; else it is started anew."""
        super().__init__()
        self._limits = limits
        self._defences = defences
        self._on_device = isinstance(arena, DeviceArena)
        self._channel = Channel()
        status_read, status_write = os.pipe()
        self._status = status_read
        self._jail = Path(tempfile.mkdtemp(prefix="ke-jail-"))
        self._jail.chmod(0o755)
        plan = os.memfd_create("ke-plan", os.MFD_CLOEXEC)
        file, handle = lent(arena)
        arguments = launch.prepare(
            jail=self._jail, plan_fd=plan, child_ends=self._channel.child_ends, arena=arena, limits=limits,
            n_threads=n_threads, seccomp="seccomp" in defences, handle=handle,
        )  # fmt: skip
        shared = -1 if arena.fd is None else arena.fd
        memory_bytes = NO_LIMIT if self._on_device else limits.memory_bytes + arena.n_bytes + launch.base_bytes
        named = (*self._channel.child_ends, status_write, shared, self._log)
        confinement = "bare" if "namespaces" not in defences else "1" if "seccomp" in defences else "0"
        command = [
            *(str(fd) for fd in named), str(arena.n_bytes), str(self._jail), str(memory_bytes),
            str(8 * n_threads + 32), str(_own_uid()), confinement,
        ]  # fmt: skip
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **thread_settings(n_threads)}
        if self._on_device:
            environment |= device_settings()
        if arguments:
            environment |= {"KE_KEEP": interpreter_paths(), **NO_EARLY_THREADS}
        passed = [fd for fd in (*named, plan, file) if fd is not None and fd >= 0]
        cores = allowed(n_threads)
        self._process: Started
        if arguments and templates is not None:
            self._process = templates.of(environment, cores).start(command, arguments, passed)
        else:
            program = [*INTERPRETER, *arguments] if arguments else []
            with on(cores):
                self._process = subprocess.Popen(
                    [str(binary), *command, *program], pass_fds=passed, env=environment, cwd=self._jail,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )  # fmt: skip
        for fd in (plan, status_write, *([] if file is None else [file])):
            os.close(fd)
        self._channel.close_child_ends()

    def _start(self) -> None:
        try:
            self.isolation = tuple(self._channel.receive(timeout_s=START_TIMEOUT_S).removeprefix("I").split())
        except (Ended, Overdue) as error:
            last = self.printed.strip().rpartition("\n")[2]
            raise MachineError(f"the candidate runner did not start ({self._how_it_ended()}) {last}".strip()) from error
        load_s = max(self._limits.call_s, self._limits.build_s if self._on_device else 0.0)  # it may compile itself
        with self._blaming(load_s, "while it was loaded"):
            answer = self._channel.receive(timeout_s=load_s)
            if answer != "L":
                what = answer.removeprefix("F ") or "the library could not be loaded"
                raise CandidateFault(Outcome.LOAD_FAILED, what)
            pid = grandchild(self._process.pid, 2)  # outer -> init -> the candidate's process
            if pid is None:
                raise Ended
            self._freezer = Freezer(pid, enabled="freeze" in self._defences, whole=self._on_device)
            self._freezer.halt()

    def bind(self, slots: Mapping[int, Arguments], *, timeout_s: float) -> None:
        lines = b"".join(arguments.line(slot) for slot, arguments in slots.items())
        self._command(lines, "T", (), timeout_s)
        self.bound |= slots

    def touch(self, slots: Sequence[int], *, timeout_s: float) -> None:
        self._command(b"", "T", slots, timeout_s)

    def run(self, slots: Sequence[int], *, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        return self._command(b"", "R", slots, timeout_s, glance)

    def ready(self, slots: Sequence[int], *, timeout_s: float) -> None:
        self._command(b"", "C", slots, timeout_s)

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        with self._blaming(timeout_s, "in a call"):
            window = self._channel.outside(command("O", slots), self._freezer, timeout_s=timeout_s, look=look)
        return self._understood(window, slots)

    @property
    def core(self) -> int | None:
        return self._freezer.core

    def _command(
        self, before: bytes, verb: str, slots: Sequence[int], timeout_s: float,
        glance: Callable[[], Any] | None = None,
    ) -> Window:  # fmt: skip
        return self._understood(self._window(before + command(verb, slots), timeout_s, glance), slots)

    def _understood(self, window: Window, slots: Sequence[int]) -> Window:
        """The same window where the reply says that all is done."""
        match window.reply.split():
            case ["D", done, "0"] if done == str(len(slots)):
                return window
            case ["D", _, code] if code == _FAULTED and self._on_device:
                raise CandidateFault(Outcome.CRASHED, "the device faulted in a call (see its output)")
            case ["D", _, code] if code != "0":
                raise CandidateFault(Outcome.REFUSED, f"{_refusal(code)} for a shape inside the domain")
        raise CandidateFault(Outcome.EXITED_EARLY, f"the runner's reply was not its own: {window.reply[:80]!r}")

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()  # our own outer process: it kills the namespace's init, reaps it and ends
        try:
            self._process.wait(timeout=GONE_TIMEOUT_S if self._on_device else 5.0)
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
            if self._on_device:  # what is killed and does not end still works on the device
                raise MachineError(f"the driver does not end a killed process within {GONE_TIMEOUT_S:.0f} s") from None
            self._process.wait()
        finally:
            self._channel.close()
            os.close(self._status)
            os.close(self._log)
            shutil.rmtree(self._jail, ignore_errors=True)

    def _window(self, line: bytes, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        with self._blaming(timeout_s, "in a call"):
            return self._channel.timed(line, self._freezer, timeout_s=timeout_s, glance=glance)

    @contextmanager
    def _blaming(self, timeout_s: float, when: str) -> Iterator[None]:
        """Turn the child's silence or end into the candidate's fault."""
        try:
            yield
        except Overdue:
            raise CandidateFault(Outcome.TIMEOUT, f"no answer within {timeout_s:.1f} s {when}; killed") from None
        except Moved as error:
            raise CandidateFault(Outcome.CLOCK_DISPUTED, str(error)) from None
        except (Ended, Gone):
            raise self._fault(when) from None

    def _fault(self, when: str) -> CandidateFault:
        """What the trusted init says about the end of the candidate's process."""
        how = self._how_it_ended()
        match how.split():
            case ["S", number]:
                name = _signal_name(int(number))
                if number == str(int(signal.SIGSYS)):
                    return CandidateFault(
                        Outcome.FORBIDDEN, f"killed by the sandbox {when}: a system call no kernel needs"
                    )
                memory = (
                    f"; memory limit {self._limits.memory_bytes / 2**30:.0f} GiB" if name in _MEMORY_SIGNALS else ""
                )
                return CandidateFault(Outcome.CRASHED, f"{name} {when}{memory}")
            case ["E", code]:
                return CandidateFault(Outcome.EXITED_EARLY, f"the process ended with exit code {code} {when}")
        return CandidateFault(Outcome.EXITED_EARLY, f"the process ended {when}, saying nothing")

    def _how_it_ended(self) -> str:
        if not select.select([self._status], [], [], 1.0)[0]:
            return "its reply pipe was closed while it still runs"
        return os.read(self._status, 64).decode(errors="replace").strip()


def _refusal(code: str) -> str:
    """What a non-zero code of an entry point means; the two high ones are the Python runner's."""
    known = {
        str(RAISED): "the entry point raised an exception (see its output)",
        str(RETURNED): "the entry point returned a value",
    }
    return known.get(code, f"the entry point returned {code}")


_MEMORY_SIGNALS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGKILL")


def _own_uid() -> int:
    """A uid nobody else uses, so that the task limit counts this candidate's threads alone."""
    return 200_000 + os.getpid() % 50_000 if os.geteuid() == 0 else os.geteuid()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
