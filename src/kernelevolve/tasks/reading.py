"""Reading files that may be hostile: bounded, never a device or a link, faults as single printable lines."""

from __future__ import annotations

import ast
import os
import stat
import warnings
from pathlib import Path

from kernelevolve.errors import TaskError

MAX_FILE_BYTES = 2**20
MAX_LINE = 300


def one_line(text: str) -> str:
    """`text` as one printable line, so that a task cannot write escape sequences or fake lines to a terminal."""
    clean = "".join(character if character.isprintable() else " " for character in text)
    clean = " ".join(clean.split())
    return clean if len(clean) <= MAX_LINE else clean[: MAX_LINE - 3] + "..."


def task_error(where: str, faults: list[str]) -> TaskError:
    """The error to raise: faults in the order found, each once and on one line."""
    return TaskError(one_line(where), list(dict.fromkeys(one_line(fault) for fault in faults)))


def exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # not permitted, a name too long, or one with a null byte
        return False


def read_text(path: Path, label: str, faults: list[str]) -> str | None:
    """The file's text, or None with a line added to `faults`."""
    try:
        # O_NONBLOCK: opening a named pipe must not wait for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        faults.append(f"{label}: cannot be read: {getattr(error, 'strerror', None) or error}")
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        faults.append(f"{label}: is not a regular file")
        return None
    with os.fdopen(handle, "rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        faults.append(f"{label}: is larger than {MAX_FILE_BYTES // 2**20} MiB; a task holds source text only")
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        faults.append(f"{label}: is not UTF-8 text (byte {error.start})")
        return None
    return text.replace("\r\n", "\n")


def parse_python(text: str, label: str, faults: list[str]) -> ast.Module | None:
    """The syntax tree, or None with a line added to `faults`. Parsing runs nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence" is the author's business
            return ast.parse(text)
    except SyntaxError as error:
        faults.append(f"{label} line {error.lineno or 1}: Python syntax error: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        faults.append(f"{label}: cannot be parsed as Python: {error or 'nested too deeply'}")
    return None
