"""The corpus as data: reading `tests/attacks/<name>/` and `tests/honest/<name>/`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from kernelevolve.errors import RecordError, UsageError
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.launch import FILE_NAME as PLAN
from kernelevolve.model.task import SourceFile
from kernelevolve.model.value import Value, explain

SUFFIX = {"library": "cpp", "python": "py", "cuda": "cu", "triton": "py", "cuda_python": "py"}
LANGUAGE = {"library": "cpp", "python": "python"}
"""Lanes that a CPU can judge, and the language of their candidates."""
ON_GPU = {"cuda": "cuda", "triton": "triton", "cuda_python": "python"}
"""The same for lanes that need a GPU."""
DEVICE_CODE = ("cuda", "triton")
"""Those of them whose candidates are device code and a list of launches; the others bring host code of their own."""
GROUPS = {
    "C": "wrong or not computed", "T": "wrong clock", "H": "tampering and spoofing", "S": "not what was asked",
    "P": "broken task", "N": "gaming the statistics", "F": "honest, often refused",
}  # fmt: skip


class Entry(Value):
    """One folder: `attack.toml` or `honest.toml`, and the candidate beside it.

    `row`: the row of the catalogue, T5 say; its letter is the group. `task`: the folder of that name among the corpus'
    tasks, unless the entry brings its own. `caught`: outcomes of which the judge must give one; "no_win": correct but
    not credited; "void": the task is refused. `naive`: what the naive harness says when it falls for it; "hostile":
    nothing, the entry only does harm. `rule`: the naive rule that refuses an honest kernel. `noise`: for a whole
    campaign, the machine and the candidates it is run with.
    """

    folder: str
    row: str = Field(pattern=r"^[CTHSPNF]\d+$")
    title: str
    lane: Literal["library", "python", "cuda", "triton", "cuda_python", "campaign"]
    task: str = ""
    caught: tuple[str, ...] = ()
    naive: Literal["correct", "faster", "hostile"] = "correct"
    rule: str = ""
    flags: tuple[str, ...] = ()
    threads: int = Field(default=0, description="threads that are allowed; 0: as many as the self-test is run with")
    call_s: float = Field(default=2.0, gt=0, description="a call may take this long: more where compilers run in one")
    options: dict[str, Any] = {}
    noise: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return Path(self.folder).name

    @property
    def group(self) -> str:
        return self.row[0]

    @property
    def source(self) -> Path:
        return Path(self.folder) / f"kernel.{SUFFIX[self.lane]}"

    @property
    def task_folder(self) -> Path:
        own = Path(self.folder) / "task"
        return own if own.is_dir() else corpus_root(Path(self.folder)) / "attacks" / "tasks" / self.task

    @property
    def platform(self) -> str:
        return "cuda" if self.lane in ON_GPU else "cpu"

    def is_of(self, lane: str) -> bool:
        """Whether `--lane` means this one: cuda stands for all that a GPU judges, nothing for all."""
        return lane in ("", self.lane) or (lane == "cuda" and self.lane in ON_GPU)

    @property
    def rivals(self) -> tuple[Candidate, ...]:
        """On a GPU an honest kernel may well beat the baselines; what an attack must not beat is the honest kernel. It
        is Python where the attack is, because device code is timed by another clock."""
        if self.platform != "cuda":
            return ()
        suffix, language = ("cu", "cuda") if self.lane in DEVICE_CODE else ("py", "python")
        folder = corpus_root(Path(self.folder)) / "attacks" / "naive" / "honest_cuda" / self.task
        source = folder / f"kernel.{suffix}"
        return (candidate_of(source, language),) if source.exists() else ()

    def candidate(self) -> Candidate:
        source = self.source
        modules = source.parent.glob("*.py") if self.lane == "cuda_python" else ()
        beside = tuple(path for path in sorted(modules) if path != source)
        return candidate_of(source, {**LANGUAGE, **ON_GPU}[self.lane], self.flags, beside=beside)


def candidate_of(
    source: Path, language: str, flags: tuple[str, ...] = (), *, beside: tuple[Path, ...] = ()
) -> Candidate:
    """A candidate of that file, `beside`, and where it is device code the list of launches and the headers."""
    listed = [source.with_name(PLAN), *sorted(source.parent.glob("*.cuh"))] if language in DEVICE_CODE else []
    paths = [source, *listed, *beside]
    files = tuple(SourceFile(path=path.name, text=path.read_text()) for path in paths)
    return Candidate(
        language=language, files=files, flags=flags, origin=Origin(proposer="corpus", recipe=source.parent.name)
    )


def read_entry(file: Path) -> Entry:
    """Raises RecordError."""
    try:
        return Entry.model_validate({"folder": str(file.parent), **tomllib.loads(file.read_text())})
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        what = explain(error) if isinstance(error, ValidationError) else str(error)
        raise RecordError(f"{file}: {what}") from error


def attacks(root: Path) -> list[Entry]:
    return [read_entry(path) for path in sorted((root / "attacks").glob("*/attack.toml"))]


def honest(root: Path) -> list[Entry]:
    return [read_entry(path) for path in sorted((root / "honest").glob("*/honest.toml"))]


def corpus_root(inside: Path) -> Path:
    """The folder with `attacks/` and `honest/`, upwards from a path inside it."""
    for folder in (inside, *inside.parents):
        if (folder / "attacks" / "tasks").is_dir():
            return folder
    raise UsageError(f"{inside} is in no corpus: a folder with attacks/tasks/ and honest/")


def default_root() -> Path:
    """The corpus of the source tree this runs from. Raises UsageError where there is none."""
    root = Path(__file__).parents[3] / "tests"
    if not (root / "attacks" / "tasks").is_dir():
        raise UsageError("no corpus beside this installation: use a source checkout, or --corpus FOLDER")
    return root
