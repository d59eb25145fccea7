"""Patches: what Python's difflib writes is applied to the byte, what does not fit is refused whole."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.errors import UsageError
from kernelevolve.interfaces.agent.unified_diff import apply_diff

LINES = st.lists(st.sampled_from(["", "a", "b", "int x;", "--- a", "+++ b", "@@ -1 +1 @@", " ", "-", "+"]), max_size=20)


def made(before: list[str], after: list[str], context: int = 3) -> str:
    return "\n".join(difflib.unified_diff(before, after, "a/k.cpp", "b/k.cpp", lineterm="", n=context))


@given(LINES, LINES, st.integers(0, 4))
def test_a_diff_made_by_difflib_gives_the_other_text(before: list[str], after: list[str], context: int) -> None:
    if before == after:
        return
    before, after = [*before, "end", ""], [*after, "end", ""]
    files = {"k.cpp": "\n".join(before), "other.h": "x"}
    assert apply_diff(files, made(before, after, context)) == {**files, "k.cpp": "\n".join(after)}


def test_files_are_added_removed_and_renamed() -> None:
    files = {"a.cpp": "one\ntwo\n", "b.cpp": "three\n"}
    added = "diff --git a/c.h b/c.h\nnew file mode 100644\n--- /dev/null\n+++ b/c.h\n@@ -0,0 +1,2 @@\n+four\n+\n"
    removed = "--- a/b.cpp\n+++ /dev/null\n@@ -1 +0,0 @@\n-three\n"
    changed = apply_diff(files, added + removed)
    assert set(changed) == {"a.cpp", "c.h"}
    assert changed["c.h"].startswith("four\n")


def test_a_wrong_line_number_is_put_right_where_only_one_place_fits() -> None:
    diff = "--- a/k\n+++ b/k\n@@ -90,2 +90,2 @@\n two\n-three\n+3\n"
    assert apply_diff({"k": "one\ntwo\nthree\n"}, diff) == {"k": "one\ntwo\n3\n"}


@pytest.mark.parametrize(
    ("diff", "what"),
    [
        ("", "holds no change"),
        ("hello", "no part of a unified diff"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "the parent has k"),
        ("--- a/k\n+++ b/k\n@@ -1,3 +1,3 @@\n one\n", "ends early"),
        ("--- a/k\n+++ b/k\n@@ -1 +1 @@\n-nine\n+b\n", "0 places"),
        ("--- a/k\n+++ b/k\n@@ -9 +9 @@\n-same\n+b\n", "2 places"),
    ],
)
def test_what_does_not_fit_is_refused(diff: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        apply_diff({"k": "one\nsame\nsame\n"}, diff)
