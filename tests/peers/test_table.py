"""The page about other systems' faults tells the truth: every row is there, and its tests exist and say so."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "peers.md").read_text()
PE = (2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20, 21, 23, 24, 26, 27, 29, 30, 32, 33, 35, 36, 38, 39, 41, 42, 44, 45,
      47, 48, 50, 51, 53, 54, 56, 57, 59, 60, 62, 63)  # fmt: skip
PS = (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40, 41, 43, 44,
      46, 47, 49, 50, 52, 53, 55, 56, 58, 59)  # fmt: skip
IDS = [*(f"PE{number}" for number in PE), *(f"PS{number}" for number in PS)]
NOT_TESTED = {"PE32", "PE35", "PE62"}
"""Faults of parts that this project does not have. This set may only shrink."""
_ROW = re.compile(r"^\| (P[ES]\d+) \| ([^|]+) \| ([^|]+) \|$", re.M)
_ID = re.compile(r"\bP[ES]\d+\b")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


ROWS = {found[1]: re.findall(r"`([^`]+)`", found[3]) for found in _ROW.finditer(PAGE.partition("\n## ")[0])}


@cache
def ids_of_tests(path: str) -> dict[str, set[str]]:
    """Test of a file -> ids in its name or docstring."""
    return {
        node.name: set(_ID.findall(f"{ast.get_docstring(node) or ''} {node.name}"))
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_no_row_is_missing() -> None:
    assert len(IDS) == len(set(IDS))
    assert [*ROWS] == [one for one in IDS if one not in NOT_TESTED]
    assert all(ROWS.values())
    reasons = dict(re.findall(r"^\| (P[ES]\d+) \| (.+) \|$", section("Not tested"), re.M))
    assert set(reasons) == NOT_TESTED


@pytest.mark.parametrize("row", ROWS)
def test_its_tests_exist_and_carry_its_id(row: str) -> None:
    for named in ROWS[row]:
        path, _, test = named.partition("::")
        assert (ROOT / path).is_file(), path
        assert test in ids_of_tests(path), named
        assert row in ids_of_tests(path)[test], f"{named} does not say {row}"


def test_no_test_carries_an_id_that_there_is_not() -> None:
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "src" / "kernelevolve" / "testing").glob("*_case.py")]
    carried = {path: ids_of_tests(str(path.relative_to(ROOT))) for path in files}
    unknown = {
        f"{path.name}::{test}": ids - set(IDS) for path, tests in carried.items() for test, ids in tests.items()
        if ids - set(IDS)
    }  # fmt: skip
    assert unknown == {}


def test_what_is_met_in_another_way_says_how() -> None:
    rows = {found[1] for found in _ROW.finditer(section("Met in another way"))}
    assert rows
    assert rows <= ROWS.keys()
