"""`kernelevolve doctor`: what this machine has, and what to do about what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, JsonOption, PlatformOption, StoreOption

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from kernelevolve.platforms.base import Check

NEEDED = ("python", "c++ compiler", "torch", "store", "fake")
"""Without these nothing can be judged; anything else only makes runs noisier or less isolated."""


def doctor(platform: PlatformOption = "cpu", store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> int:
    """Check compiler, PyTorch, sandbox and store. Exit code 4 when something needed is missing."""
    from kernelevolve.interfaces.cli.border import MACHINE, OK
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.platforms import make_platform

    checks = [*make_platform(platform).checks(), *_language_checks(platform), _store_check(store)]
    ready = all(check.ok for check in checks if check.name in NEEDED)
    data = {
        "platform": platform,
        "ready": ready,
        "checks": [{**check.model_dump(mode="json"), "needed": check.name in NEEDED} for check in checks],
    }
    emit("doctor", as_json, data, lambda console: _render(checks, ready, console))
    return OK if ready else MACHINE


def _language_checks(platform: str) -> list[Check]:
    """The languages of this platform that have a compiler of their own to install."""
    from kernelevolve.platforms.base import Check
    from kernelevolve.toolchains import languages_for, make_toolchain
    from kernelevolve.toolchains.cache import default_cache
    from kernelevolve.toolchains.dsl import DslToolchain

    checks = []
    for language in languages_for(platform):
        toolchain = make_toolchain(language, cache=default_cache())
        if not isinstance(toolchain, DslToolchain):
            continue
        problem = toolchain.problem()
        checks.append(Check(
            name=language, ok=problem is None, detail="no compiler" if problem else toolchain.compiler,
            fix=problem or "",
        ))  # fmt: skip
    return checks


def _store_check(folder: Path) -> Check:
    """Whether campaigns can be kept there; nothing is created in a folder, the tables in a database."""
    import os

    from kernelevolve.errors import KernelEvolveError
    from kernelevolve.platforms.base import Check
    from kernelevolve.store import open_store
    from kernelevolve.store.place import store_url

    if store_url(folder):
        try:
            open_store(folder)
        except KernelEvolveError as error:
            return Check(name="store", ok=False, detail=str(error), fix="check the server and its address in --store")
        return Check(name="store", ok=True, detail="the PostgreSQL server answers", fix="")
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    ok = place.is_dir() and os.access(place, os.W_OK)
    return Check(
        name="store", ok=ok, detail=f"{folder} can be written" if ok else f"{place} cannot be written",
        fix="" if ok else "choose another folder with --store",
    )  # fmt: skip


def _render(checks: list[Check], ready: bool, console: Console) -> None:
    from rich.text import Text

    from kernelevolve.interfaces.wording import one_line

    for check in checks:
        mark, style = (
            ("ok", "green") if check.ok else ("missing", "red") if check.name in NEEDED else ("without", "yellow")
        )
        console.print(Text.assemble((f"{mark:<8}", style), f"{check.name:<14}", one_line(check.detail)), soft_wrap=True)
        if check.fix and not check.ok:
            console.print(Text.assemble((" " * 22 + "→ ", "dim"), one_line(check.fix)), soft_wrap=True)
    console.print("ready" if ready else "not ready: nothing can be judged here yet", style="bold")
