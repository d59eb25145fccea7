"""Which processors a side of a comparison may use: as many as it has threads, the same ones for every side.

A process that wakes up on another processor than its last one may have to wait for that one to leave its idle state,
which on a virtual machine takes as long as many a kernel. So nobody is free to move.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


def allowed(n_threads: int) -> set[int]:
    """The first `n_threads` processors this process may use; empty where the system does not say."""
    if not hasattr(os, "sched_getaffinity"):
        return set()
    return set(sorted(os.sched_getaffinity(0))[:n_threads])


@contextmanager
def on(cores: set[int]) -> Iterator[None]:
    """Run on these processors meanwhile; processes started meanwhile stay there. Does nothing for an empty set or for
    processors this process may not use."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cores)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
