"""Does the naive harness fall for an attack?   python -m tests.attacks.naive FOLDER.."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.selftest.campaigns import Noise
from kernelevolve.selftest.corpus import Entry, read_entry
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.cache import default_cache
from kernelevolve.toolchains.cpp import CppToolchain
from tests.attacks.naive.score import Score, score
from tests.attacks.naive.selection import CHOICES

FASTER = 1.5
"""A timing cheat counts as one when the naive harness shows it this much faster than the task's honest kernel."""


def build_or_copy(source: Path, task: Path, flags: tuple[str, ...], folder: Path) -> Path:
    """The `.so` or `.py` that the naive harness loads. Raises ValueError with the compiler's words."""
    if source.suffix != ".cpp":
        return source
    file = SourceFile(path="kernel.cpp", text=source.read_text())
    candidate = Candidate(language="cpp", files=(file,), flags=flags, origin=Origin(proposer="corpus"))
    built = CppToolchain(cache=default_cache()).build(load_task(str(task), platform="cpu"), candidate, timeout_s=60)
    if not isinstance(built, Artifact):
        raise ValueError("; ".join(f"{m.line}: {m.message}" for m in built.messages[:3]))
    target = folder / "kernel.so"
    target.write_bytes(Path(built.path).read_bytes())
    return target


def naive_score(entry: Entry) -> Score:
    with tempfile.TemporaryDirectory() as name:
        candidate = build_or_copy(entry.source, entry.task_folder, entry.flags, Path(name))
        extra = tuple(path for path in Path(entry.folder).glob("extra_*"))
        return score(entry.task_folder, candidate, entry.options, extra=extra)


def honest_score(entry: Entry) -> Score:
    """The task's own honest kernel in the same harness."""
    with tempfile.TemporaryDirectory() as name:
        source = entry.task_folder / f"honest{entry.source.suffix}"
        return score(entry.task_folder, build_or_copy(source, entry.task_folder, (), Path(name)), entry.options)


def fooled(entry: Entry) -> tuple[bool, str]:
    """Whether the naive harness credits the attack, and what it said."""
    if entry.lane == "campaign":
        noise, choose = Noise.model_validate(entry.noise), CHOICES[entry.options["choose"]]
        n_won = sum(choose(noise, random.Random(seed)) for seed in range(20))
        return n_won >= 16, f"a winner in {n_won} of 20 tries"
    got = naive_score(entry)
    if entry.naive == "correct" or not got.correct:
        return got.correct, got.text
    honest = honest_score(entry)
    return got.speedup > FASTER * honest.speedup, f"{got.text}; honest {honest.speedup:.2f}x"


if __name__ == "__main__":
    for word in sys.argv[1:]:
        ok, text = fooled(read_entry(Path(word) / "attack.toml"))
        print(f"{'FOOLED' if ok else 'not fooled'}  {word}: {text}", flush=True)
