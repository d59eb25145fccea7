"""The whole corpus, entry by entry, grouped by task so that a task's answers and baselines are made once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from kernelevolve.errors import MachineError, ToolMissingError
from kernelevolve.farm.base import Farm
from kernelevolve.model.value import Value
from kernelevolve.selftest.campaigns import Noise, wins
from kernelevolve.selftest.corpus import LANGUAGE, ON_GPU, Entry
from kernelevolve.selftest.judging import NO_WIN, WIN, Found, Sleep, accepted, caught, judged
from kernelevolve.toolchains import make_toolchain
from kernelevolve.toolchains.cache import default_cache
from kernelevolve.toolchains.libcuda import gpu

N_CAMPAIGNS, MAX_WON = 20, 1


class Report(Value):
    schema_version: int = 1
    found: tuple[Found, ...]
    elsewhere: tuple[str, ...] = ()
    """Entries that need hardware or a compiler that this machine lacks."""
    undecided: dict[str, str] = {}
    """Entries that this machine could not judge however often it was asked, and what it said the last time."""

    def count(self, *, honest: bool, group: str = "") -> tuple[int, int]:
        """(right, all)."""
        chosen = [item for item in self.found if item.honest is honest and item.row.startswith(group)]
        return sum(item.right for item in chosen), len(chosen)

    @property
    def ok(self) -> bool:
        return all(item.right for item in self.found)


def selftest(
    attacks: Sequence[Entry],
    honest: Sequence[Entry],
    farm: Farm,
    *,
    secret: str,
    n_threads: int,
    tell: Callable[[Found], None] = lambda _: None,
    sleep: Sleep = time.sleep,
) -> Report:
    """Judge them all. `tell` hears of each as it comes. Raises MachineError."""
    found: list[Found] = []
    for entry in attacks:
        if entry.lane == "campaign":
            found.append(_campaign(entry))
            tell(found[-1])
    lanes = _lanes()
    here = [(entry, False) for entry in attacks if entry.lane in lanes]
    here += [(entry, True) for entry in honest if entry.lane in lanes]
    undecided: dict[str, str] = {}
    for entry, is_honest in _by_task(here):
        started = time.monotonic()
        try:
            said, why = judged(entry, farm, secret=secret, n_threads=entry.threads or n_threads, sleep=sleep)
        except ToolMissingError:
            raise
        except MachineError as error:  # quarantined again and again, say
            undecided[entry.name] = str(error)
            continue
        item = Found(
            name=entry.name, row=entry.row, lane=entry.lane, honest=is_honest, said=said, message=why[:300],
            right=accepted(said) if is_honest else caught(entry, said), seconds=round(time.monotonic() - started, 2),
        )  # fmt: skip
        found.append(item)
        tell(item)
    elsewhere = [entry.name for entry in (*attacks, *honest) if entry.lane not in {*lanes, "campaign"}]
    return Report(found=tuple(found), elsewhere=tuple(elsewhere), undecided=undecided)


def part(entries: Sequence[Entry], number: int, of: int) -> list[Entry]:
    """The `number`-th of `of` parts, counted from 1, for as many machines or GPUs: tasks stay together."""
    ordered = sorted(entries, key=lambda entry: (str(entry.task_folder), entry.name))
    return ordered[len(ordered) * (number - 1) // of : len(ordered) * number // of]


def _lanes() -> set[str]:
    """What this machine can judge. CUDA needs no compiler here: machine code may have come with the candidates."""
    if gpu() is None:
        return set(LANGUAGE)
    cache = default_cache()
    compiled = {lane for lane, name in ON_GPU.items() if make_toolchain(name, cache=cache).problem() is None}
    return {*LANGUAGE, "cuda", *compiled}


def _campaign(entry: Entry) -> Found:
    """Caught when at most one in `N_CAMPAIGNS` ends with a winner: intervals may miss that often."""
    started = time.monotonic()
    noise = Noise.model_validate(entry.noise)
    n_won = sum(wins(noise, seed=seed) for seed in range(N_CAMPAIGNS))
    said = WIN if n_won > MAX_WON else NO_WIN
    return Found(
        name=entry.name, row=entry.row, lane=entry.lane, honest=False, said=said, right=caught(entry, said),
        message=f"{n_won} of {N_CAMPAIGNS} campaigns had a winner", seconds=round(time.monotonic() - started, 2),
    )  # fmt: skip


def _by_task(entries: list[tuple[Entry, bool]]) -> Iterator[tuple[Entry, bool]]:
    """Those that are compared with all baselines last within their task: their secret is the same."""

    def key(item: tuple[Entry, bool]) -> tuple[str, str, bool, str]:
        entry = item[0]
        return entry.platform, str(entry.task_folder), NO_WIN in entry.caught, entry.name

    yield from sorted(entries, key=key)
