"""Each honest entry is one that a naive rule rejects: otherwise it would show nothing when our judge accepts it."""

from __future__ import annotations

import pytest
import torch

from kernelevolve.selftest.corpus import LANGUAGE, Entry, default_root, honest
from tests.honest.naive_rules import DYNAMIC, RULES
from tests.honest.observe import observe

ON_CPU = [entry for entry in honest(default_root()) if entry.lane in LANGUAGE]
STATIC_ENTRIES = [entry for entry in ON_CPU if entry.rule in RULES]
DYNAMIC_ENTRIES = [entry for entry in ON_CPU if entry.rule not in RULES]


@pytest.mark.parametrize("entry", STATIC_ENTRIES, ids=lambda entry: entry.name)
def test_a_static_rule_rejects_it(entry: Entry) -> None:
    assert RULES[entry.rule](entry.source.read_text())


@pytest.mark.parametrize("entry", DYNAMIC_ENTRIES, ids=lambda entry: entry.name)
def test_a_dynamic_rule_rejects_it(entry: Entry) -> None:
    with torch.no_grad():
        assert DYNAMIC[entry.rule](observe(entry))


def test_every_rule_has_an_honest_victim() -> None:
    assert {entry.rule for entry in ON_CPU} == set(RULES) | set(DYNAMIC)


def test_no_rule_rejects_everything_but_the_one_that_wants_a_launch() -> None:
    plain = (
        "extern C int f(const float* x, float* y, int64_t n) {\n    for (int64_t i = 0; i < n; ++i) y[i] = x[i];\n}\n"
    )
    assert [name for name, rule in RULES.items() if rule(plain)] == []


def test_enough_of_them() -> None:
    assert len(ON_CPU) >= 34
    assert len({entry.rule for entry in ON_CPU}) >= 25
