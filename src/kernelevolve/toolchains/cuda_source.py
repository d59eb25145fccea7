"""What a CUDA source may say to the preprocessor and the assembler. Read as the compiler would read it, never run.

This is the first of two walls and gives the good messages; the second is that the compiler's process has no files.
"""

from __future__ import annotations

import re
from collections.abc import Collection

SYSTEM_HEADERS = frozenset(
    {
        "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h", "mma.h", "cooperative_groups.h",
        "cooperative_groups/reduce.h", "cooperative_groups/scan.h", "cooperative_groups/memcpy_async.h",
        "cuda_pipeline.h", "cuda_pipeline_primitives.h", "cuda_awbarrier.h", "cuda_runtime.h", "cuda.h",
        "vector_types.h", "vector_functions.h", "math_constants.h", "cuComplex.h", "curand_kernel.h",
    }
)  # fmt: skip
"""Besides these, everything below cuda/ and cub/, which the headers are made of anyway."""
_SYSTEM_FOLDERS = re.compile(r"(cuda|cub|nv)/[A-Za-z0-9_/]+(\.h|\.hpp|\.cuh)?")
_DIRECTIVE = re.compile(r"^[ \t\f\v]*(?:#|%:)[ \t\f\v]*(\w*)[ \t\f\v]*(.*)$", re.M)
_DIRECTIVES = frozenset(
    {"", "include", "define", "undef", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif",
     "pragma", "error", "warning", "line"}
)  # fmt: skip
_INCLUDE = re.compile(r"<([^<>\"\s]+)>|\"([^<>\"\s]+)\"")
_ASSEMBLER = re.compile(r"\.(incbin|include|entry|section|extern)\b")


def source_fault(path: str, text: str, own: Collection[str]) -> str | None:
    """One line, or None. `own`: the candidate's files, which it may include."""
    joined = re.sub(r"\\[ \t]*\r?\n", "", text)
    if re.search(r"\?\?[=/]", joined):
        return f"{path}: trigraphs are not taken"
    code, strings = without_comments(joined)
    for match in _DIRECTIVE.finditer(code):
        line = _line(text, joined, match.start())
        word, rest = match[1], match[2].strip()
        if word not in _DIRECTIVES:
            return f"{path}:{line}: #{word} is not taken"
        if word == "include" and (fault := _include_fault(rest, own)) is not None:
            return f"{path}:{line}: {fault}"
    if re.search(r"\b__has_(include|embed)", code):
        return f"{path}: asks which files there are"
    if directive := _ASSEMBLER.search("".join(strings)):
        return f"{path}: assembler directive {directive[0]} in a string"
    return None


def _include_fault(rest: str, own: Collection[str]) -> str | None:
    match = _INCLUDE.fullmatch(rest)
    if match is None:
        return "an #include must name its file"
    name = match[1] or match[2]
    if ".." in name or name.startswith("/"):
        return "includes a file outside the candidate"
    if name in own or name in SYSTEM_HEADERS or _SYSTEM_FOLDERS.fullmatch(name):
        return None
    return f"includes {name}, which is no file of the candidate and no CUDA header for device code"


def without_comments(text: str) -> tuple[str, list[str]]:
    """(the text with every comment a space, the contents of its string literals)."""
    out: list[str] = []
    strings: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            end = len(text) if end < 0 else end + 2
            out.append(" " + "\n" * text.count("\n", at, end))
            at = end
        elif (raw := _RAW.match(text, at)) is not None:
            closing = f'){raw[1]}"'
            last = text.find(closing, raw.end())
            end = len(text) if last < 0 else last + len(closing)
            strings.append(text[raw.end() : last if last >= 0 else end])
            out.append(text[at:end])
            at = end
        elif (literal := _LITERAL.match(text, at)) is not None:
            if literal[0][0] == '"':
                strings.append(literal[0][1:-1])
            out.append(literal[0])
            at = literal.end()
        elif (word := _WORD.match(text, at)) is not None:  # with its digit separators: 1'000 opens nothing
            out.append(word[0])
            at = word.end()
        else:
            out.append(text[at])
            at += 1
    return "".join(out), strings


_RAW = re.compile(r'(?<![A-Za-z0-9_])(?:u8|u|U|L)?R"([^()\\\s]{0,16})\(')
_LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
_WORD = re.compile(r"\d(?:'?\w)*|[A-Za-z_]\w*")


def _line(text: str, joined: str, at: int) -> int:
    """The line in the text as written: continuations before this place count again."""
    n_lines = joined.count("\n", 0, at)
    seen = 0
    for number, line in enumerate(text.split("\n"), 1):
        if seen == n_lines and not line.rstrip().endswith("\\"):
            return number
        if not line.rstrip().endswith("\\"):
            seen += 1
    return 0
