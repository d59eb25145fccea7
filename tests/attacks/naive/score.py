"""What the naive harness would put on its board for a candidate."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, kw_only=True)
class Score:
    correct: bool
    speedup: float
    text: str


def score(task_folder: Path, candidate: Path, options: dict[str, Any], *, extra: tuple[Path, ...] = ()) -> Score:
    """Run the harness on a built `.so` or a `.py` in the candidate's own folder; believe what it prints."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in (candidate, *extra):
            shutil.copy(file, folder / file.name)
        read_fd, write_fd = os.pipe()
        environment = dict(os.environ, SCORE_FD=str(write_fd), PYTHONPATH=f"{folder}:{ROOT}", HOME=str(folder))
        environment |= {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": str(2**30)}  # like a caching allocator
        command = [sys.executable, str(Path(__file__).with_name("harness.py")), str(task_folder.resolve())]
        try:
            done = subprocess.run(
                [*command, str(folder / candidate.name), json.dumps(options)], env=environment, cwd=folder,
                pass_fds=(write_fd,), capture_output=True, text=True, timeout=options.get("timeout_s", 60), check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Score(correct=False, speedup=0.0, text="timed out")
        finally:
            os.close(write_fd)
        with os.fdopen(read_fd) as pipe:
            lines = pipe.read().splitlines() + done.stdout.splitlines()
    results = [line.removeprefix("RESULT ") for line in lines if line.startswith("RESULT ")]
    if results:
        try:
            last = json.loads(results[0])
            return Score(correct=bool(last["correct"]), speedup=float(last.get("speedup", 1.0)), text=results[0])
        except (ValueError, KeyError, TypeError):
            pass
    if done.returncode == 0:  # nothing was said, but it ended well
        return Score(correct=True, speedup=1.0, text="exit code 0")
    return Score(correct=False, speedup=0.0, text=f"exit code {done.returncode}: {done.stderr[-300:]}")
