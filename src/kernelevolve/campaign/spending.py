"""What paid calls have taken so far, by name: for proposers that weigh it against what came of it."""

from __future__ import annotations

from kernelevolve.model.brief import Spent
from kernelevolve.search.tree import Tree


def spent_by_name(tree: Tree) -> tuple[Spent, ...]:
    """In the order of names. An open call counts with what is set aside for it; what a settled one took is its cost,
    and unknown stays unknown."""
    totals: dict[str, Spent] = {}
    for call, reserved in tree.reserved.items():
        settled = tree.settled.get(call)
        tokens = settled.tokens_in + settled.tokens_out if settled else reserved.tokens
        usd = settled.usd if settled else reserved.usd
        before = totals.get(reserved.model, Spent(name=reserved.model, n_calls=0, tokens=0, usd=0.0))
        known = before.usd is not None and usd is not None
        totals[reserved.model] = Spent(
            name=reserved.model, n_calls=before.n_calls + 1, tokens=before.tokens + tokens,
            usd=(before.usd or 0.0) + (usd or 0.0) if known else None,
        )  # fmt: skip
    return tuple(totals[name] for name in sorted(totals))
