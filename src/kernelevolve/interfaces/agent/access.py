"""What a server lets its agents do, and the objects it works with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kernelevolve.campaign.budget import Clock
from kernelevolve.errors import UnknownNameError
from kernelevolve.evaluation.strangers import others_on_average
from kernelevolve.farm import make_farm
from kernelevolve.farm.base import Farm
from kernelevolve.model.events import Settings
from kernelevolve.model.task import Task
from kernelevolve.platforms import PLATFORMS
from kernelevolve.tasks import builtin_names, load_task

MakeFarm = Callable[[Settings, Path], Farm]


def usual_farm(settings: Settings, cache: Path) -> Farm:
    name = "fake" if settings.platform == "fake" else "process"
    return make_farm(name, n_threads=settings.n_threads, cache_dir=cache)


@dataclass(frozen=True, kw_only=True)
class Access:
    """`allow_campaigns`: every campaign of the store may be read, other people's winners included.
    `task_folders`: tasks may be read from inside these, besides the built-in ones. `knowledge`: for settings."""

    allow_campaigns: bool = False
    task_folders: tuple[Path, ...] = ()
    platforms: tuple[str, ...] = tuple(PLATFORMS)
    knowledge: str = ""
    max_candidates: int = 10_000
    max_seconds: float = 1e6

    def load_task(self, reference: str, *, kind: str) -> Task:
        """Raises UnknownNameError for what is not built in and not inside `task_folders`, else as `load_task`."""
        if reference not in builtin_names():
            reference = self._inside(reference)
        return load_task(reference, platform=kind)

    def _inside(self, reference: str) -> str:
        folders = [folder.resolve() for folder in self.task_folders]
        places = [(folder / reference).resolve() for folder in (Path.cwd(), *folders)]
        for path in places:
            if path.exists() and any(path.is_relative_to(folder) for folder in folders):
                return str(path)
        allowed = f" or in {', '.join(map(str, folders))}" if folders else ""
        raise UnknownNameError(f"task, built in{allowed},", reference, builtin_names())


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """`folder` is the store's. `others_now`: how many threads of others could run on this machine at the moment."""

    folder: Path
    cache: Path
    make_farm: MakeFarm = usual_farm
    clock: Clock = time.monotonic
    others_now: Callable[[], float] = others_on_average
    access: Access = field(default_factory=Access)
