"""The native format: a folder with task.toml + reference.py, or one Python file with the TOML in a comment block."""

from __future__ import annotations

import re
from pathlib import Path

from kernelevolve.model.task import SourceFile, Task
from kernelevolve.tasks.consistency import finished
from kernelevolve.tasks.document import input_names, parse_toml, shape_axis_names, task_fields
from kernelevolve.tasks.reading import exists, read_text, task_error
from kernelevolve.tasks.source_check import source_faults

MAX_FILES = 64
_FILE_NAME = re.compile(r"[A-Za-z0-9_./-]+")
OPENING, CLOSING = "# /// task", "# ///"


class NativeSource:
    """Reads both spellings; the Python in them is parsed, never run."""

    def matches(self, path: Path) -> bool:
        if path.is_dir():
            return exists(path / "task.toml")
        if path.suffix != ".py":
            return False
        text = read_text(path, path.name, []) or ""
        return any(line.rstrip() == OPENING for line in text.split("\n"))

    def load(self, path: Path, *, platform: str) -> Task:
        faults: list[str] = []
        if path.is_dir():
            files = _folder_files(path, faults)
            text, label, first_line = read_text(path / "task.toml", "task.toml", faults), "task.toml", 0
        else:
            source = read_text(path, path.name, faults) or ""
            files = (SourceFile(path="reference.py", text=source),)
            text, first_line = comment_block(source, path.name, faults)
            label = path.name
        table = parse_toml(text, label, first_line, faults) if text is not None else None
        fields = task_fields(table, platform, faults) if table is not None else None
        names = {file.path: path.name if path.is_file() else file.path for file in files}
        faults += source_faults(files, names, input_names(table), shape_axis_names(table))
        if fields is None or faults:
            raise task_error(str(path), faults)
        return finished({**fields, "files": files}, str(path))


def comment_block(source: str, label: str, faults: list[str]) -> tuple[str | None, int]:
    """The TOML in the `# /// task` block and the number of lines before it."""
    lines = source.split("\n")
    starts = [number for number, line in enumerate(lines) if line.rstrip() == OPENING]
    if len(starts) != 1:
        faults.append(f"{label}: has {len(starts)} '{OPENING}' blocks; a task has exactly one")
        return None, 0
    content: list[str] = []
    for number, line in enumerate(lines[starts[0] + 1 :], starts[0] + 2):
        if line.rstrip() == CLOSING:
            return "\n".join(content) + "\n", starts[0] + 1
        if line.rstrip() != "#" and not line.startswith("# "):
            faults.append(f"{label} line {number}: the task block needs '# ' on every line and '{CLOSING}' at its end")
            return None, 0
        content.append(line[2:])
    faults.append(f"{label}: the '{OPENING}' block is not closed with '{CLOSING}'")
    return None, 0


def _folder_files(path: Path, faults: list[str]) -> tuple[SourceFile, ...]:
    inside = [p for p in sorted(path.rglob("*.py")) if not _skipped(p.relative_to(path))]
    if len(inside) > MAX_FILES:
        faults.append(f"the folder holds {len(inside)} Python files; a task has at most {MAX_FILES}")
        return ()
    reference = path / "reference.py"
    if reference not in inside:
        faults.append("reference.py is missing: it defines make_inputs(sizes, rng, variant) and reference(...)")
    files = []
    for file in sorted(inside, key=lambda p: (p != reference, p)):
        name = file.relative_to(path).as_posix()
        if file.is_symlink():
            faults.append(f"{name}: is a link; put the file itself into the folder")
            continue
        if not _FILE_NAME.fullmatch(name):
            faults.append(f"{name!r}: a file name may hold ASCII letters, digits, '_', '-', '.' and '/'")
            continue
        text = read_text(file, name, faults)
        if text is not None:
            files.append(SourceFile(path=name, text=text))
    return tuple(files) if files and files[0].path == "reference.py" else ()


def _skipped(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)
