"""Several policies share one tree and one budget: each gets moves by what its moves have brought."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kernelevolve.search.beam import BeamPolicy
from kernelevolve.search.greedy import GreedyPolicy
from kernelevolve.search.index import Credit
from kernelevolve.search.islands import IslandsPolicy
from kernelevolve.search.mcts import MctsPolicy
from kernelevolve.search.moves import Moves
from kernelevolve.search.phases import Expand, PhasedPolicy
from kernelevolve.search.tree import Tree

MEMBERS: tuple[type[PhasedPolicy], ...] = (GreedyPolicy, BeamPolicy, MctsPolicy, IslandsPolicy)


class PortfolioPolicy(PhasedPolicy):
    """The share of a member is drawn from what is believed of it (Thompson sampling on the tree's credits, which only
    places feed): a member that brought little is tried again now and then, as its old moves fade. A move
    names the member in `policy`."""

    name = "portfolio"

    def __init__(self, *, n_drafts: int = 8, members: Sequence[PhasedPolicy] | None = None) -> None:
        super().__init__(n_drafts=n_drafts)
        self._members = tuple(members or (member(n_drafts=n_drafts) for member in MEMBERS))

    def expansion(self, tree: Tree, rng: random.Random, moves: Moves) -> Expand:
        started: dict[str, Expand] = {}

        def expand() -> None:
            draws = [(rng.betavariate(*self.belief(tree, member)), index) for index, member in enumerate(self._members)]
            for _, index in sorted(draws, reverse=True):
                member = self._members[index]
                n_before = len(moves.taken)
                moves.policy = member.name
                expand_member = started.get(member.name) or member.expansion(tree, rng, moves)
                started[member.name] = expand_member
                expand_member()
                moves.policy = self.name
                if len(moves.taken) > n_before:
                    return

        return expand

    def belief(self, tree: Tree, member: PhasedPolicy) -> tuple[float, float]:
        """Both parameters of a Beta distribution; each is at least 1."""
        credit = tree.index.credits.get(member.name, Credit())
        return 1.0 + credit.earned, 1.0 + max(0.0, credit.tried - credit.earned)
