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
}


def make_farm(
    name: str, *, n_threads: int = 1, cache_dir: Path | None = None, evaluate: Evaluate | None = None
) -> Farm:
    """ "process" needs `cache_dir`, "inline" needs `evaluate`. Raises UnknownNameError, UsageError."""
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
    module, _, attribute = FARMS[name].partition(":")
    return cast(Farm, getattr(import_module(module), attribute)(**options))
