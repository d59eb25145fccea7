"""The process that Python candidates are forked from: it has imported what they need, and waits. None runs in it.

A request is one message: JSON {"command", "arguments", "numbers"} with descriptors. Only the child reads it, so nothing
of one candidate's is left for the next; the answer is the child's process number. Ends when the judge's end is closed.
argv: socket library
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence

from kernelevolve.evaluation import python_runner
from kernelevolve.toolchains.confine import n_threads

MESSAGE_BYTES, MAX_DESCRIPTORS = 2**16, 16
FIRST = 3
"""Descriptors from here on are nobody's but a request's."""
_SET_BY_WALLS = ("KE_ISOLATION", "KE_SCRATCH")


def main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    enter = ctypes.PyDLL(sys.argv[2]).ke_enter
    if n_threads() > 1:  # it would be in none of the children, and others would wait for what it holds
        raise RuntimeError(f"{n_threads()} threads run, so this process cannot be forked")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests.send(b"ready")
    while select.select([requests], [], []) and requests.recv(1, socket.MSG_PEEK):
        taken, take = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                become(requests, take, enter)
            finally:
                os._exit(1)  # a child never goes on here
        os.close(take)
        was_taken = os.read(taken, 1)
        os.close(taken)
        if not was_taken:
            raise RuntimeError("a child ended before it had read its request")
        requests.send(str(pid).encode())
    os._exit(0)  # what torch would tidy up takes it longer than anybody waits


def become(requests: socket.socket, take: int, enter: Callable[..., int]) -> None:
    """A candidate's processes, of which this is the outermost."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setsid()
    data, received, _, _ = socket.recv_fds(requests, MESSAGE_BYTES, MAX_DESCRIPTORS)
    os.write(take, b"t")
    requests.detach()
    request = json.loads(data)
    place(received, request["numbers"])
    words = [word.encode() for word in ("ke-enter", *request["command"])]
    if (
        enter(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None)) != 0
    ):  # comes back in the innermost process
        return
    os.environ.pop("KE_KEEP", None)
    for name in _SET_BY_WALLS:
        if (value := _getenv(name)) is not None:
            os.environ[name] = value
    sys.argv = ["python_runner", *request["arguments"]]
    python_runner.main()


def place(received: Sequence[int], numbers: Sequence[int]) -> None:
    """Give descriptors the numbers they have with whoever sent them, and close all others."""
    every = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 - descriptors, no files
    beyond = max([*numbers, *every]) + 1
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, beyond) for fd in received]
    os.closerange(FIRST, beyond)
    for fd, number in zip(moved, numbers, strict=True):
        os.dup2(fd, number)
    for fd in moved:
        with contextlib.suppress(OSError):
            os.close(fd)


def _getenv(name: str) -> str | None:
    """What was set since Python looked."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    value = getenv(name.encode())
    return None if value is None else value.decode()


if __name__ == "__main__":
    main()
