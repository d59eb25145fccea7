"""The contract of a policy: a pure function from the tree to the next moves."""

from __future__ import annotations

import random
from typing import Protocol

from kernelevolve.model.brief import Move
from kernelevolve.search.tree import Tree


class Policy(Protocol):
    """There is no `tell`. A policy keeps nothing between calls: whatever it wants to know about the past it reads
    from the tree, so that a resumed campaign goes on exactly as the unbroken one would have.

    Rules, checked by `kernelevolve.testing.policy_case`:
    - the same tree and the same state of `rng` give the same moves, and nothing but `rng` is random;
    - only the order of scores counts: adding a constant to all of them changes no move;
    - a failed or repeated node is no parent while a correct one exists; a node that is not judged yet never is;
    - a node of a dead branch is no parent while another branch lives;
    - within one call, and beside what is in flight (nodes still being judged, questions still open), no (operator,
      parents) pair appears twice, except `draft`;
    - the first `n_drafts` attempts are drafts; a draft remembers nothing, a crossing both lineages;
    - each move names the policy that chose it.
    """

    def ask(self, tree: Tree, rng: random.Random, n: int) -> list[Move]:
        """Exactly `n` moves."""
        ...
