from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelevolve.briefs.fences import CUT, clean, fence, inline

TEXTS = st.text(max_size=80) | st.text(alphabet="`~# \n\rax\x1b[", max_size=40)
EXAMPLES = settings(
    deadline=None, max_examples=300, database=None, suppress_health_check=[HealthCheck.differing_executors]
)


@given(TEXTS, TEXTS)
@EXAMPLES
def test_a_fence_is_closed_by_its_own_last_line_only(text: str, language: str) -> None:
    lines = fence(text, language).split("\n")
    marks = lines[-1]
    assert re.fullmatch("`{3,}", marks)
    assert re.fullmatch(rf"{marks}[A-Za-z0-9_+-]*", lines[0])
    assert not any(marks in line for line in lines[1:-1])


@given(TEXTS)
@EXAMPLES
def test_inline_code_is_one_line_and_keeps_its_content_inside(text: str) -> None:
    found = inline(text)
    assert "\n" not in found
    marks = re.match("`+", found)
    assert marks is not None
    if found != "``":
        inside = found[len(marks[0]) : -len(marks[0])]
        assert marks[0] not in re.findall("`+", inside)


@given(TEXTS)
@EXAMPLES
def test_nothing_unseen_is_left(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", clean(text))


def test_terminal_codes_go_with_their_letters() -> None:
    assert clean("\x1b[31mred\x1b[0m \x1b]0;title\x07end\r\nnext") == "red end\nnext"


def test_what_is_cut_says_so() -> None:
    assert inline("x" * 500, 100) == f"`{'x' * 100}{CUT}`"
