"""What calls took, as a brief tells it."""

from __future__ import annotations

from kernelevolve.campaign.spending import spent_by_name
from kernelevolve.model.brief import Spent
from kernelevolve.model.events import Event, Reserved, Settled
from kernelevolve.search.tree import Tree
from kernelevolve.testing.samples import sample_opened


def reserved(call: int, model: str, usd: float | None = 1.0) -> Reserved:
    return Reserved(call=call, ask=call, model=model, request=str(call), tokens=100, usd=usd, elapsed_s=1.0)


def test_an_open_call_counts_with_what_is_set_aside_a_settled_one_with_what_it_took() -> None:
    """PS29 PS59"""
    events: list[Event] = [
        sample_opened(),
        reserved(1, "b"),
        Settled(call=1, outcome="failed", tokens_in=7, tokens_out=3, usd=0.25, elapsed_s=2.0),
        reserved(2, "b"),
        reserved(3, "a", usd=None),
        Settled(call=3, outcome="answered", tokens_in=5, elapsed_s=3.0),
        reserved(4, "a"),
    ]
    assert spent_by_name(Tree(events)) == (
        Spent(name="a", n_calls=2, tokens=105, usd=None),
        Spent(name="b", n_calls=2, tokens=110, usd=1.25),
    )
    assert spent_by_name(Tree(events[:1])) == ()
