"""The process that a profiler looks at: launches every candidate of a job and writes down how far it came.

argv: job.json result.json WAY n_calls
  range     under ncu: looked at only between our marks, so that warming up and copying are not profiled
  timeline  torch.profiler around all calls; its trace lies beside the result
  scopes    Proton around all calls, a scope per candidate; its tree lies beside the result
One of them a process: the driver serves one profiler at a time.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from kernelevolve.diagnosis.device_launcher import COPY_KERNEL, Launcher
from kernelevolve.errors import KernelEvolveError
from kernelevolve.model.profile_job import ProfileJob

WARM_UP_S, WARM_COPIES = 0.3, 50
"""From idling to full clocks takes about a fifth of a second."""
TRACE, TREE = "timeline.json", "scopes"


class Way(Protocol):
    def start(self) -> None:
        """Before this process has a context."""

    def around(self, launcher: Launcher, label: str) -> AbstractContextManager[None]: ...

    def finish(self) -> None: ...


class Range:
    def __init__(self, folder: Path) -> None:
        pass

    def start(self) -> None:
        pass

    @contextmanager
    def around(self, launcher: Launcher, label: str) -> Any:
        launcher.watched(True)
        yield
        launcher.wait()
        launcher.watched(False)

    def finish(self) -> None:
        pass


class Timeline:
    def __init__(self, folder: Path) -> None:
        self._file = folder / TRACE
        self._profile: Any = None

    def start(self) -> None:
        import torch

        torch.cuda.init()
        self._profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
        self._profile.start()

    def around(self, launcher: Launcher, label: str) -> AbstractContextManager[None]:
        return nullcontext()

    def finish(self) -> None:
        self._profile.stop()
        self._profile.export_chrome_trace(str(self._file))


class Scopes:
    def __init__(self, folder: Path) -> None:
        self._file = folder / TREE
        self._proton: Any = None

    def start(self) -> None:
        self._proton = import_module("triton.profiler")
        self._proton.start(str(self._file))

    def around(self, launcher: Launcher, label: str) -> Any:
        return self._proton.scope(label)

    def finish(self) -> None:
        self._proton.finalize()


WAYS: dict[str, type[Range | Timeline | Scopes]] = {"range": Range, "timeline": Timeline, "scopes": Scopes}


def main(arguments: list[str]) -> int:
    job_path, result_path = Path(arguments[0]), Path(arguments[1])
    result: dict[str, Any] = {"done": [], "where": "", "error": ""}
    try:
        way = WAYS[arguments[2]](result_path.parent)
        _run(ProfileJob.from_json(job_path.read_text()), way, int(arguments[3]), result)
    except (KernelEvolveError, ImportError, AssertionError, OSError, RuntimeError) as error:
        result["error"] = f"{type(error).__name__}: {error}"
    result_path.write_text(json.dumps(result))
    return 0


def _run(job: ProfileJob, way: Way, n_calls: int, result: dict[str, Any]) -> None:
    way.start()
    launcher = Launcher(job)
    started = time.monotonic()
    while time.monotonic() - started < WARM_UP_S:
        launcher.copy(times=WARM_COPIES)
        launcher.wait()
    result["where"] = COPY_KERNEL
    with way.around(launcher, COPY_KERNEL):
        launcher.copy()
        launcher.wait()
    result["done"].append(COPY_KERNEL)
    for candidate in job.candidates:
        result["where"] = candidate.label
        launcher.load(candidate)
        for _ in range(n_calls):
            launcher.prepare()
            with way.around(launcher, candidate.label):
                launcher.call(candidate)
            launcher.wait()
        result["done"].append(candidate.label)
    result["where"] = ""
    way.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
