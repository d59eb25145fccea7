"""A candidate from files on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from kernelevolve.errors import UnknownNameError, UsageError
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.launch import FILE_NAME as PLAN
from kernelevolve.model.task import SourceFile
from kernelevolve.toolchains import PLATFORMS, SOURCES, TOOLCHAINS

HEADERS = (".h", ".hpp", ".cuh")
ENTRY_FILE = "kernel.py"
PLAN_SUFFIX = {name: ".py" for name, where in PLATFORMS.items() if where == ("cuda",) and name != "cuda"}
"""Languages of device code that are written in Python, with a plan beside."""
OURS = ("ke_abi.h", "ke_shim.cpp")
FLAGS_LINE = "// flags:"
"""A line of a source file that names compiler flags beyond the standard ones."""


def read_candidate(path: Path, *, language: str = "") -> Candidate:
    """A source file (of device code with its launch.toml beside it), or a folder of sources and headers (an exported
    one too). `language` is needed where the files do not tell: without it .py files are a Python module, whatever the
    platform, and a folder that has a plan beside them is none. Raises UsageError."""
    if language and language not in TOOLCHAINS:
        raise UnknownNameError("language", language, tuple(TOOLCHAINS))
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    if path.is_dir():
        paths = _sources(path, language)
        names = [found.relative_to(path).as_posix() for found in paths]
    else:
        planned = path.suffix == ".cu" or PLAN_SUFFIX.get(language) == path.suffix
        paths = [path, path.with_name(PLAN)] if planned and path.with_name(PLAN).exists() else [path]
        names = [found.name for found in paths]
    found_languages = {language or SOURCES[found.suffix] for found in paths if found.suffix in SOURCES}
    if len(found_languages) != 1:
        hint = (
            "; for .py files with a launch.toml say --language (python for a module)" if (path / PLAN).exists() else ""
        )
        raise UsageError(f"{path}: expected source files of one language ({' '.join(SOURCES)}){hint}")
    try:
        texts = [found.read_text(encoding="utf-8") for found in paths]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as text: {error}") from error
    return Candidate(
        language=found_languages.pop(),
        files=tuple(SourceFile(path=name, text=text) for name, text in zip(names, texts, strict=True)),
        flags=_flags(path, texts),
        origin=Origin(proposer="user", recipe=path.stem, intent=f"given as {path.name}"),
    )


def _sources(folder: Path, language: str) -> list[Path]:
    """In order; of a Python candidate `kernel.py` comes first. Beside other sources Python is a wrapper's, as in an
    export, and no part of the candidate; where the language is written in .py, nothing else is."""
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if (path.suffix in (*SOURCES, *HEADERS) and path.name not in OURS) or path == folder / PLAN
    ]
    if language in ("python", *PLAN_SUFFIX):
        plan = folder / PLAN if language in PLAN_SUFFIX else None
        found = [path for path in found if path.suffix == ".py" or path == plan]
        return sorted(found, key=lambda path: (path.name == PLAN, path.name != ENTRY_FILE))
    others = [path for path in found if path.suffix != ".py"]
    return others or sorted(found, key=lambda path: path.name != ENTRY_FILE)


def read_baselines(paths: Sequence[Path]) -> tuple[Candidate, ...]:
    """Kernels to be beaten, each under a name of its own. Raises UsageError."""
    found: list[Candidate] = []
    for path in paths:
        candidate = read_candidate(path)
        names = {other.origin.recipe for other in found} | {"eager", "compile"}
        name, number = candidate.origin.recipe, 2
        while name in names:
            name, number = f"{candidate.origin.recipe}_{number}", number + 1
        found.append(candidate.model_copy(update={"origin": candidate.origin.model_copy(update={"recipe": name})}))
    return tuple(found)


def _flags(path: Path, texts: Sequence[str]) -> tuple[str, ...]:
    evidence = path / "evidence.json"
    if evidence.exists():
        try:
            return tuple(str(flag) for flag in json.loads(evidence.read_text())["flags"])
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{evidence} is not an export's evidence: {error}") from error
    for text in texts:
        for line in text.splitlines()[:40]:
            if line.startswith(FLAGS_LINE):
                return tuple(line.removeprefix(FLAGS_LINE).split())
    return ()
