"""Where jobs are judged. Adding one: a file with a `Farm`, a line in `FARMS`, a subclass of `testing.FarmCase`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from kernelevolve.errors import UnknownNameError, UsageError
from kernelevolve.farm.base import Farm
from kernelevolve.farm.inline import Evaluate

FARMS = {
    "process": "kernelevolve.farm.process:ProcessFarm",
    "fake": "kernelevolve.farm.fake:FakeFarm",
    "inline": "kernelevolve.farm.inline:InlineFarm",
    "recorded": "kernelevolve.farm.recorded:RecordedFarm",
}


def make_farm(
    name: str,
    *,
    n_threads: int = 1,
    cache_dir: Path | None = None,
    evaluate: Evaluate | None = None,
    table: Path | None = None,
) -> Farm:
    """ "process" needs `cache_dir`, "inline" needs `evaluate`, "recorded" needs `table`; with `cache_dir` too it has a
    process farm judge what is not in the table. Raises UnknownNameError, UsageError."""
    if name not in FARMS:
        raise UnknownNameError("farm", name, tuple(FARMS))
    options: dict[str, object] = {}
    if name == "process":
        if cache_dir is None:
            raise UsageError("the process farm needs a cache folder")
        options = {"n_threads": n_threads, "cache_dir": cache_dir}
    elif name == "inline":
        if evaluate is None:
            raise UsageError("the inline farm needs a function that judges")
        options = {"evaluate": evaluate}
    elif name == "recorded":
        if table is None:
            raise UsageError("the recorded farm needs a file for its table")
        inner = make_farm("process", n_threads=n_threads, cache_dir=cache_dir) if cache_dir else None
        options = {"table": table, "inner": inner}
    module, _, attribute = FARMS[name].partition(":")
    return cast(Farm, getattr(import_module(module), attribute)(**options))
