"""Unified diffs as `diff` and `git diff` write them: every part fits, or nothing is changed."""

from __future__ import annotations

import contextlib
import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.errors import RecordError
from kernelevolve.proposers.command.unified import apply_patch

LINES = st.lists(
    st.sampled_from(["", "a", "b", "--- x", "+++ y", "@@", "@@ -1 +1 @@", "-", "+ z", "\\ No", "\ttab"]), max_size=12
)
FOUR = {"a.h": "one\ntwo\nthree\nfour\n"}


def text_of(lines: list[str], *, ends: bool) -> str:
    return "\n".join(lines) + ("\n" if lines and (ends or lines[-1] == "") else "")


def unified(before: str, after: str, path: str = "f.cpp", n: int = 3) -> str:
    """As `diff -u` writes it, with its words for a missing line end."""
    left, right = (text.splitlines(keepends=True) for text in (before, after))
    out = []
    for line in difflib.unified_diff(left, right, f"a/{path}", f"b/{path}", n=n):
        out.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(out)


@given(LINES, LINES, st.booleans(), st.booleans(), st.integers(0, 3))
def test_what_a_diff_says_is_what_comes_out(old: list[str], new: list[str], end: bool, end_new: bool, n: int) -> None:
    """PS23"""
    before, after = text_of(old, ends=end), text_of(new, ends=end_new)
    if before != after:
        files = {"f.cpp": before, "other.h": "kept\n"}
        assert apply_patch(files, unified(before, after, n=n)) == {"f.cpp": after, "other.h": "kept\n"}
        assert files["f.cpp"] == before


def test_git_makes_changes_deletes_and_adds_files(tmp_path: Path) -> None:
    for top, files in (("a", {"x.cpp": "1\n2\n", "gone.h": "gone\n"}), ("b", {"x.cpp": "1\n3", "sub/new.h": "new\n"})):
        for name, text in files.items():
            path = tmp_path / top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    words = ["git", "diff", "--no-index", "--no-prefix", "a", "b"]
    patch = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert apply_patch({"x.cpp": "1\n2\n", "gone.h": "gone\n"}, patch) == {"x.cpp": "1\n3", "sub/new.h": "new\n"}


def test_a_hunk_that_moved_is_found_where_it_fits_in_one_place_only() -> None:
    hunk = "--- a.h\n+++ a.h\n@@ -9 +9 @@\n-three\n+3\n"
    assert apply_patch(FOUR, hunk) == {"a.h": "one\ntwo\n3\nfour\n"}
    with pytest.raises(RecordError, match="found in 2 places"):
        apply_patch({"a.h": "three\nx\nthree\n"}, hunk)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("", "changes nothing"),
        ("nonsense\n", "changes nothing"),
        ("--- a.h\n+++ a.h\n@@ -1 +1 @@\n-zero\n+0\n", "found nowhere"),
        ("--- b.h\n+++ b.h\n@@ -1 +1 @@\n-one\n+1\n", "there is no file b.h; there are: a.h"),
        ("--- a.h\n+++ a.h\n@@ -1,2 +1,2 @@\n-one\n+1\n", "ends early|starts with"),
        ("--- a.h\n+++ a.h\n@@ nowhere @@\n-one\n+1\n", "no head of a hunk"),
        ("--- /dev/null\n+++ a.h\n@@ -0,0 +1 @@\n+1\n", "is there already"),
        ("--- a.h\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "leaves some of it"),
        ("--- a.h\n+++ a.h\n@@ -1 +1 @@\n?one\n+1\n", "starts with '\\?'"),
        ("rename from a.h\nrename to b.h\n", "no rename"),
    ],
)
def test_what_does_not_fit_is_said(patch: str, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        apply_patch(FOUR, patch)


@given(st.text())
def test_any_text_gives_files_or_a_reason(text: str) -> None:
    for patch in (text, f"--- a.h\n+++ a.h\n{text}", f"--- a.h\n+++ a.h\n@@ -1,2 +1,2 @@\n{text}"):
        with contextlib.suppress(RecordError):
            assert all(isinstance(line, str) for line in apply_patch(FOUR, patch).values())
