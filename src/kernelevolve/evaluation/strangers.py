"""Other people's work on this machine: how many threads could run besides those of who asks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

STAT = Path("/proc/stat")
N_LOOKS, BETWEEN_S = 20, 0.02


def others_running() -> int:
    """Runnable threads on this machine besides the one that asks; 0 where the kernel does not say."""
    if not STAT.exists():
        return 0
    line = next((line for line in STAT.read_text().splitlines() if line.startswith("procs_running")), "procs_running 1")
    return max(0, int(line.split()[1]) - 1)


def others_on_average(look: Callable[[], int] = others_running, sleep: Callable[[float], None] = time.sleep) -> float:
    """Over several looks, which take half a second: a single one says little."""
    seen = []
    for _ in range(N_LOOKS):
        seen.append(look())
        sleep(BETWEEN_S)
    return statistics.mean(seen)
