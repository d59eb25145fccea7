"""What a candidate is once comments and layout are taken away: two that differ in nothing else are judged once.

A false "different" costs one evaluation. A false "equal" costs a candidate its own verdict, so whatever could carry a
meaning is kept: strings, the text of preprocessor lines, indentation in Python, and every language not named here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.task import SourceFile
from kernelevolve.model.value import canonical_json, sha256_text

_C_TOKEN = re.compile(
    r"""
    (?P<comment>/\*.*?(?:\*/|\Z)|//(?:[^\\\n]|\\[ \t\r]*\n|\\.)*)  # a line comment goes on after a backslash
  | \\[ \t]*\n  # two lines made one: kept, it may stand within a word
  | (?P<newline>\n)
  | (?P<blank>[^\S\n]+)
  | (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?s:.*?)(?:\)(?P=mark)"|\Z)
  | (?:u8|[uUL])?"(?:[^"\\\n]|\\(?s:.))*"?
  | (?:u8|[uUL])?'(?:[^'\\\n]|\\(?s:.))*'?
  | \.?[0-9](?:[eEpP][+-]|'?[0-9A-Za-z_]|\.)*   # a number, separators included
  | [A-Za-z_$][0-9A-Za-z_$]*
  | <<=|>>=|\.\.\.|->\*|<=>|<<<|>>>|\+\+|--|->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|\#\#|\.\*
  | (?s:.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PYTHON_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
  | (?P<newline>\n)
  | (?P<blank>[^\S\n]+)
  | (?:'''(?:[^\\]|\\.)*?(?:'''|\Z)|\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z))
  | (?:'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?)
  | [^\s\#'"]+
    """,
    re.VERBOSE | re.DOTALL,
)

_OWN_NAME = re.compile(r"FILE|LOCATION|source_location|##|#\s*(?:include_next|embed)")
"""What may depend on the name of the file: `__FILE__`, `__builtin_FILE`, or a word that is pasted together."""


def normal_id(candidate: Candidate) -> str:
    """64 hex digits over language, flags in their order, and files without comments and layout."""
    language = candidate.language
    files = sorted((_name(candidate, file), normal_text(language, file.path, file.text)) for file in candidate.files)
    return sha256_text(canonical_json([candidate.language, files, list(candidate.flags)]))


def _name(candidate: Candidate, file: SourceFile) -> str:
    """Of the only file of a C++ candidate just the suffix: its entry point is found by prototype. Not where the source
    could ask what it is called."""
    name = file.path.rpartition("/")[2]
    suffix = name.rpartition(".")[2]
    alone = candidate.language == "cpp" and len(candidate.files) == 1 and suffix in ("cpp", "cc")
    return file.path if not alone or name in file.text or _OWN_NAME.search(file.text) else f".{suffix}"


def normal_text(language: str, path: str, text: str) -> str:
    """Nothing but what is compiled; as it stands for a kind of file that is not known."""
    style = _STYLES.get((language, path.rpartition(".")[2]))
    return style(text.replace("\r\n", "\n")) if style is not None else text


def _c_like(text: str) -> str:
    """Tokens with one blank between them; a preprocessor line stays a line and keeps its blanks, for
    `#define f(x)` is not `#define f (x)`."""
    out: list[str] = []
    line: list[str] = []
    directive = False

    def end_line() -> None:
        if line:
            out.append("\n" + "".join(line).strip() + "\n" if directive else " ".join(line) + " ")
            line.clear()

    for match in _C_TOKEN.finditer(text):
        token = match.group()
        if match["newline"] is not None:
            end_line()
            directive = False
        elif match["blank"] is not None or match["comment"] is not None:
            if directive and line and line[-1] != " ":
                line.append(" ")
        else:
            directive = directive or (token == "#" and not line)
            line.append(token)
    end_line()
    return "".join(out).strip()


def _python_like(text: str) -> str:
    """Lines without comments and trailing blanks, their indentation kept; empty ones are gone."""
    lines: list[str] = []
    line = ""
    for match in _PYTHON_TOKEN.finditer(text):
        if match["comment"] is not None:
            continue
        if match["newline"] is not None:
            lines.append(line)
            line = ""
        elif match["blank"] is not None:
            line += match.group() if not line.strip() else " "
        else:
            line += match.group()
    return "\n".join(kept for each in (*lines, line) if (kept := each.rstrip()))


_C_SUFFIXES = ("c", "cc", "cpp", "cu", "cuh", "h", "hpp")
_STYLES: dict[tuple[str, str], Callable[[str], str]] = {
    **{(language, suffix): _c_like for language in ("cpp", "cuda") for suffix in _C_SUFFIXES},
    **{(name, "py"): _python_like for name in ("python", "triton", "gluon", "tlx", "cutedsl", "cutile")},
}
