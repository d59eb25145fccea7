"""A small operator family for the builtin proposer: three recipes, few settings."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.errors import ProposerError
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.proposers.builtin.arm import Arm
from kernelevolve.proposers.builtin.proposer import BuiltinProposer

BODY = """
extern "C" int double_(const float* x, float* out, int64_t n) { return UNROLL + KE_THREADS; }
"""
RECIPES = {
    "plain": "// recipe: plain\n// family: double\n// summary: one loop\n// order: 10\nint plain;\n",
    "blocks": "// recipe: blocks\n// family: double\n// summary: blocks of a row\n// knob UNROLL = 4 1 2 8\n"
    "// knob LOAD = wide narrow\n// order: 20\n#include <cstdint>\n" + BODY,
    "streams": "// recipe: streams\n// family: double\n// summary: stores past the cache\n// isa: avx512f\n"
    "// fastmath: no\n// knob UNROLL = 2 4\n// order: 30\nint KE_THREADS_used;\n",
    "elsewhere": "// recipe: elsewhere\n// family: double\n// summary: for another chip\n// isa: sve\n// order: 5\n",
}


def write_recipes(folder: Path) -> Path:
    (folder / "double").mkdir(parents=True, exist_ok=True)
    for name, text in RECIPES.items():
        (folder / "double" / f"{name}.cpp").write_text(text)
    return folder


def no_inductor(task: Task, facts: PlatformFacts) -> Arm:
    raise ProposerError("Inductor is not asked here")


def make_builtin(folder: Path) -> BuiltinProposer:
    return BuiltinProposer(recipes=write_recipes(folder / "recipes"), inductor=no_inductor)
