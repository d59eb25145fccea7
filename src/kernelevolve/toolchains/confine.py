"""Takes rights away from the current process, for good. Standard library only, and loaded by path where kernelevolve is
not installed; Linux does all of it.

What is left: computing, reading Python and the system's libraries, threads, and file descriptors opened before.
No new processes, no network, no writing to files, no signals to others. Each layer is optional on its own: a
kernel or architecture without one still has the others, and limits on memory and time exist everywhere. Who must start
compilers may (`programs`): whatever it starts is under the same walls.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SIGKILL, EPERM, ENOSYS = 9, 1, 38
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
CAPSET_X86_64 = 126

# x86-64 numbers of system calls that reach beyond this process or outlive it.
_EXEC = (59, 322)  # execve, execveat
_FORK = (57, 58)  # fork, vfork
_DENIED = (
    41, 53,  # socket, socketpair
    62, 200, 129, 297, 424, 434,  # kill, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal, pidfd_open
    101, 310, 311,  # ptrace, process_vm_readv, process_vm_writev
    29, 64, 68, 240,  # shmget, semget, msgget, mq_open: would outlive the process
    90, 91, 268, 452, 92, 93, 94, 260,  # chmod and chown family
    188, 189, 190, 197, 198, 199, 132, 235, 280,  # extended attributes and file times
    165, 166, 272, 308, 425, 321, 323, 298, 246, 248, 250,  # mount .. unshare, io_uring, bpf, userfaultfd, perf, keys
    141, 164, 169, 170, 171, 227,  # setpriority, settimeofday, reboot, sethostname, setdomainname, clock_settime
)  # fmt: skip
_CHANGES_FILES = (
    85, 76, 82, 264, 316, 83, 258, 84,  # creat, truncate, rename.., mkdir.., rmdir
    86, 265, 88, 266, 87, 263, 133, 259,  # link.., symlink.., unlink.., mknod..
)  # fmt: skip
# A process that stands still because somebody stopped it is let go on by SIGCONT, blocked or ignored as that may be.
# Signals of a free number that come later, or from outside, are denied; SIGCONT is by any call.
_ALARMS = (222, 244)  # timer_create, mq_notify
_FCNTL, F_SETSIG, SIGCONT = 72, 10, 18  # F_SETSIG: when a pipe has become readable, a lease is broken, a folder changes
_OPEN, _OPENAT, _OPENAT2, _FOR_WRITING = 2, 257, 437, 0x1 | 0x2 | 0x40 | 0x200
_CLONE, _CLONE3, _TGKILL, CLONE_THREAD, X32_BIT, ARCH_X86_64 = 56, 435, 234, 0x10000, 0x40000000, 0xC000003E
_CLONE_NAMESPACES = 0x7E020000
"""In namespaces of its own even an unprivileged process may mount."""
_SECCOMP, SECCOMP_SET_FILTER, SECCOMP_ALL_THREADS = 317, 1, 1
_EXECUTE, _WRITE, _READ, _TRUNCATE, _IOCTL = 1 << 0, 1 << 1, 1 << 2 | 1 << 3, 1 << 14, 1 << 15
NO_EARLY_THREADS = {"OPENBLAS_NUM_THREADS": "1"}
"""Settings for a process that is to be confined: NumPy's library starts its threads when it is imported, before."""
_FILE_RIGHTS = 1 << 0 | 1 << 1 | 1 << 2 | _TRUNCATE | _IOCTL
"""Of Landlock's rights those a file can have: execute, write, read, truncate, control a device."""


def confine(
    *, memory_bytes: int, cpu_s: int, readable: Iterable[str], filter_calls: bool = True, file_bytes: int = 0,
    writable: Iterable[str] = (), executable: Iterable[str] = (), frozen_files: bool = False,
    devices: Iterable[str] = (), programs: bool = False,
) -> list[str]:  # fmt: skip
    """Call before any untrusted code and before a second thread exists: a thread that does keeps every right it was
    born with, and code in the same memory can make it do what it likes. Returns the names of what is active. Raises
    RuntimeError where there is one.

    `writable`: folders whose files may be made and changed. `executable`: programs this process may become, and their
    loaders. `frozen_files`: no file is opened for writing, made or removed, also where there is no Landlock. `devices`:
    files to read, write and control. `programs`: whatever is readable or writable may be started as well."""
    if (n_others := n_threads() - 1) > 0:
        raise RuntimeError(
            f"{n_others} other threads run already, and would keep the rights that this process gives up"
        )
    active = ["rlimits"]
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CPU, cpu_s, grace=1)
    _limit(resource.RLIMIT_FSIZE, file_bytes)
    _limit(resource.RLIMIT_CORE, 0)
    if not sys.platform.startswith("linux"):
        return active
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    tools = tuple(executable)
    start = _EXECUTE if programs else 0
    rights = [*((name, _READ | start) for name in readable), *((name, _READ | _EXECUTE) for name in tools)]
    rights += [
        *((name, ~_EXECUTE | start) for name in writable),
        *((name, _READ | _WRITE | _TRUNCATE | _IOCTL) for name in devices),
    ]
    if _restrict_files(libc, rights):
        active.append("landlock")
    if platform.machine() == "x86_64":
        _drop_capabilities(libc)
        active.append("no-capabilities")
        denied = (*_DENIED, *_FORK, *(() if tools else _EXEC), *(_CHANGES_FILES if frozen_files else ()))
        if filter_calls and _filter_system_calls(libc, denied, frozen_files=frozen_files):
            active.append("seccomp")
    return active


def n_threads() -> int:
    """Of this process, whoever started them: libraries that compute do so when they are loaded. 1 where the system does
    not say."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else 1


def filter_all_threads(*, programs: bool) -> list[str]:
    """The filter alone, for every thread this process has: for who had to start some, a device's driver's, between
    `confine` and untrusted code. They got the other walls from the thread that started them. Returns what `confine`
    does."""
    if platform.machine() != "x86_64" or not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    denied = (*_DENIED, *(() if programs else (*_FORK, *_EXEC)))
    done = _filter_system_calls(libc, denied, frozen_files=False, programs=programs, all_threads=True)
    return ["seccomp"] if done else []


def _limit(what: int, value: int, *, grace: int = 0) -> None:
    """Whoever started this process may have set a tighter one; that stays."""
    if value == resource.RLIM_INFINITY:
        return
    _, hard = resource.getrlimit(what)
    most = value + grace if hard == resource.RLIM_INFINITY else min(value + grace, hard)
    resource.setrlimit(what, (min(value, most), most))


def landlock_version(libc: ctypes.CDLL) -> int:
    """0 or less where the kernel has none."""
    return int(libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1))


def _restrict_files(libc: ctypes.CDLL, allowed: Iterable[tuple[str, int]]) -> bool:
    """Landlock: these rights on these paths and no others, no TCP, no signals or abstract sockets to outside."""
    version = landlock_version(libc)
    if version < 1:
        return False
    n_rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    every = (1 << n_rights) - 1
    attributes = struct.pack("=QQQ", every, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    attributes = attributes[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = libc.syscall(LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    for name, wanted in sorted({(name, rights) for name, rights in allowed if name and Path(name).exists()}):
        handle = os.open(name, os.O_PATH | os.O_CLOEXEC)
        rights = wanted & every if Path(name).is_dir() else wanted & every & _FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, handle))
        libc.syscall(LANDLOCK_ADD, ruleset, 1, rule, 0)
        os.close(handle)
    done = libc.syscall(LANDLOCK_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return bool(done)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Even uid 0 keeps no privilege."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    libc.syscall(CAPSET_X86_64, header, ctypes.create_string_buffer(24))


def _filter_system_calls(
    libc: ctypes.CDLL, denied: Iterable[int], *, frozen_files: bool, programs: bool = False, all_threads: bool = False
) -> bool:
    """seccomp: the denied calls fail with EPERM, and so does what lets a stopped process go on; threads and a signal to
    oneself (abort) stay possible. `programs`: so do processes, in the namespaces there are."""

    def statement(code: int, value: int, on_true: int = 0, on_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, on_true, on_false, value)

    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, deny, absent, kill = 0x7FFF0000, 0x00050000 | EPERM, 0x00050000 | ENOSYS, 0x80000000
    program = [
        statement(load, 4), statement(equal, ARCH_X86_64, 1, 0), statement(answer, kill),
        statement(load, 0), statement(at_least, X32_BIT, 0, 1), statement(answer, deny),
        # clone3 hides its flags behind a pointer; without it the C library falls back to clone.
        statement(equal, _CLONE3, 0, 1), statement(answer, absent),
        statement(equal, _CLONE, 0, 4), statement(load, 16),
        statement(any_bit, _CLONE_NAMESPACES, 0, 1) if programs else statement(any_bit, CLONE_THREAD, 1, 0),
        statement(answer, deny), statement(answer, allow),
        statement(equal, _TGKILL, 0, 6), statement(load, 16), statement(equal, os.getpid(), 0, 2),
        statement(load, 32), statement(equal, SIGCONT, 0, 1), statement(answer, deny), statement(answer, allow),
        statement(equal, _FCNTL, 0, 4), statement(load, 24), statement(equal, F_SETSIG, 0, 1),
        statement(answer, deny), statement(answer, allow),
    ]  # fmt: skip
    if frozen_files:
        program += [statement(equal, _OPENAT2, 0, 1), statement(answer, absent)]
        for number, flags in ((_OPEN, 24), (_OPENAT, 32)):
            program += [
                statement(equal, number, 0, 4), statement(load, flags), statement(any_bit, _FOR_WRITING, 0, 1),
                statement(answer, deny), statement(answer, allow),
            ]  # fmt: skip
    for number in (*denied, *_ALARMS):
        program += [statement(equal, number, 0, 1), statement(answer, deny)]
    program.append(statement(answer, allow))
    code = ctypes.create_string_buffer(b"".join(program))
    pointer = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(code)))
    if all_threads:
        return bool(libc.syscall(_SECCOMP, SECCOMP_SET_FILTER, SECCOMP_ALL_THREADS, pointer) == 0)
    return bool(libc.prctl(PR_SET_SECCOMP, 2, pointer, 0, 0) == 0)
