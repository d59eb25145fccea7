"""What the rules of a caller change about a diff, and the facts that come with a fault."""

from __future__ import annotations

import pytest

from kernelevolve.model.unified_diff import DiffError, Fault, Rules, apply_diff

EXACT = Rules(line_ends=True, prose=True, exact=True)
LOOSE = Rules(line_ends=False, prose=False, exact=False)
OLD = {"k": "one\ntwo\nthree"}
HEAD = "--- a/k\n+++ b/k\n"


def outcome(diff: str, rules: Rules) -> dict[str, str] | Fault:
    try:
        return apply_diff(OLD, diff, rules)
    except DiffError as error:
        return error.fault


@pytest.mark.parametrize(
    ("diff", "exact", "loose"),
    [
        (f"why\n{HEAD}@@ -1 +1 @@\n-one\n+1\n", {"k": "1\ntwo\nthree"}, Fault.NOT_A_DIFF),
        (f"{HEAD}@@ -3 +3 @@\n-three\n+3\n", Fault.NOWHERE, {"k": "one\ntwo\n3"}),
        (f"{HEAD}@@ -1 +1,2 @@\n one\n+1\n two\n", {"k": "one\n1\ntwo\nthree"}, Fault.NOT_A_DIFF),
        (f"{HEAD}@@ -1 +1,3 @@\n one\n+1\n two\n", Fault.COUNTS, {"k": "one\n1\ntwo\nthree"}),
        ("--- /dev/null\n+++ b/k\n@@ -0,0 +1 @@\n+1\n", Fault.PRESENT, {"k": "1\n"}),
        ("--- a/k\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", Fault.LEFT_OVER, {}),
        ('--- "a/k"\n+++ "b/k"\n@@ -1 +0,0 @@\n-one\n', {"k": "two\nthree"}, {"k": "two\nthree"}),
    ],
)
def test_rules(diff: str, exact: dict[str, str] | Fault, loose: dict[str, str] | Fault) -> None:
    assert (outcome(diff, EXACT), outcome(diff, LOOSE)) == (exact, loose)


@pytest.mark.parametrize("rules", [EXACT, LOOSE])
def test_a_hunk_is_looked_for_as_far_off_as_the_one_before_was(rules: Rules) -> None:
    diff = f"{HEAD}@@ -1 +1 @@\n-one\n+1\n@@ -3 +3 @@\n-x\n+y\n"
    assert apply_diff({"k": "\n\none\nx\nx\n"}, diff, rules) == {"k": "\n\n1\nx\ny\n"}


def test_a_fault_has_the_facts_and_the_caller_the_words() -> None:
    with pytest.raises(DiffError) as caught:
        apply_diff({"k": "same\nsame\n"}, f"{HEAD}@@ -9 +9 @@\n-same\n+b\n", EXACT)
    assert caught.value.facts == {"path": "k", "number": 1, "line": 9, "n_places": 2}
    assert caught.value.said({Fault.AMBIGUOUS: "{path} {n_places}"}) == "k 2"
