from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelevolve.briefs.tokens import count

TEXTS = st.text(max_size=60) | st.text(alphabet="ab1 2\n\t;(", max_size=60)
EXAMPLES = settings(
    deadline=None, max_examples=300, database=None, suppress_health_check=[HealthCheck.differing_executors]
)


@given(TEXTS, TEXTS)
@EXAMPLES
def test_parts_add_up_to_no_less_than_the_whole(first: str, second: str) -> None:
    assert count(first + second) <= count(first) + count(second)


@given(TEXTS)
@EXAMPLES
def test_longer_texts_have_more(text: str) -> None:
    assert count(text) >= count(text[: len(text) // 2])
    assert count(text) <= len(text.encode(errors="replace")) + 1


def test_code_costs_more_than_a_token_for_each_three_and_a_half_characters() -> None:
    line = "    for (int64_t r = 0; r < R; ++r) out[r] = x[r] * 2.0f;\n"
    assert count(line * 100) > len(line * 100) / 3.5
    assert count("") == 0
