"""Foreign text inside Markdown: it can neither close its fence nor pose as a section.

Foreign is everything that our own code did not write: sources, messages of compilers, task texts, intents of other
proposers, insights, retrieved documents. What is in a fence is data; the brief says so once, at its top.
"""

from __future__ import annotations

import re
import unicodedata

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_HIDDEN = ("Cc", "Cf", "Cs", "Co")
"""Unicode's classes of characters that print nothing: controls, formats (also those that turn the direction of
writing), lone surrogates, private use."""
_TICKS = re.compile("`+")
CUT = " [...]"


def clean(text: str) -> str:
    """Without terminal codes and characters that print nothing; every kind of line end is a newline."""
    text = _ESCAPES.sub("", _LINE_ENDS.sub("\n", text))
    if text.isascii():
        return _CONTROLS.sub("", text)
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in _HIDDEN)


def fence(text: str, language: str = "") -> str:
    """A fenced block. Its fence is longer than any run of backticks inside."""
    body = clean(text).rstrip("\n")
    marks = "`" * max(3, 1 + _longest_run(body))
    return f"{marks}{re.sub('[^A-Za-z0-9_+-]', '', language)}\n{body}\n{marks}"


def inline(text: str, limit: int = 300) -> str:
    """One line of code within a sentence; longer than `limit` characters it is cut, and says so."""
    body = " ".join(clean(text).split())
    if len(body) > limit:
        body = body[:limit].rstrip() + CUT
    if not body:
        return "``"
    marks = "`" * (1 + _longest_run(body)) if "`" in body else "`"
    space = " " if body.startswith("`") or body.endswith("`") else ""
    return f"{marks}{space}{body}{space}{marks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
