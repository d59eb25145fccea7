"""Source text as coloured HTML, and the difference to a parent."""

from __future__ import annotations

import difflib

from kernelevolve.interfaces.wording import printable
from kernelevolve.model.candidate import Candidate

LIGHT_STYLE, DARK_STYLE = "friendly", "github-dark"


def highlight(text: str, language: str) -> str:
    """HTML spans for a <pre>; pygments escapes the text. `language` is a lexer name, C++ when unknown."""
    import pygments
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        lexer = get_lexer_by_name("cpp")
    return str(pygments.highlight(printable(text), lexer, HtmlFormatter(nowrap=True)))


def style_sheet() -> str:
    """Colours for both themes, scoped so that neither touches anything else."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style=LIGHT_STYLE).get_style_defs("pre.code")
    dark = HtmlFormatter(style=DARK_STYLE).get_style_defs(':root[data-theme="dark"] pre.code')
    return "\n".join(line for line in f"{light}\n{dark}".splitlines() if "background" not in line or "color:" in line)


def unified_diff(before: Candidate | None, after: Candidate, *, before_name: str, after_name: str) -> list[str]:
    """Lines of a unified diff over all files; what only one side has is compared with nothing."""
    old = {file.path: file.text for file in before.files} if before else {}
    new = {file.path: file.text for file in after.files}
    old_flags = before.flags if before else ()
    lines: list[str] = []
    if old_flags != after.flags:
        lines += [f"-flags: {' '.join(old_flags) or '(none)'}", f"+flags: {' '.join(after.flags) or '(none)'}"]
    for path in sorted(old.keys() | new.keys()):
        lines += difflib.unified_diff(
            old.get(path, "").splitlines(), new.get(path, "").splitlines(),
            fromfile=f"{before_name}/{path}", tofile=f"{after_name}/{path}", lineterm="",
        )  # fmt: skip
    return [printable(line) for line in lines]


def line_kind(line: str) -> str:
    """ "add", "cut", "hunk", "file" or "same", for colouring a diff line."""
    if line.startswith(("+++", "---")):
        return "file"
    if line.startswith("@@"):
        return "hunk"
    return {"+": "add", "-": "cut"}.get(line[:1], "same")
