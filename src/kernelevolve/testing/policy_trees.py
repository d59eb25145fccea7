"""Trees to try policies on, drawn from what became of their nodes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Asked, Event, Settings
from kernelevolve.model.verdict import Outcome
from kernelevolve.search.tree import Tree
from kernelevolve.testing.samples import sample_candidate, sample_judged, sample_opened, sample_proposed

# What became of a node: a speed-up, a failure (0), a repeat of an earlier usable node (-1), not judged yet (None).
Fate = float | int | None
FAILED, REPEAT, PENDING = 0, -1, None

_FATES = st.one_of(
    st.floats(min_value=1e-300, max_value=1e300),
    st.floats(min_value=0.5, max_value=4.0),
    st.sampled_from([FAILED, FAILED, REPEAT, PENDING]),
)
Drawn = tuple[list[Fate], int]
DRAWN: st.SearchStrategy[Drawn] = st.tuples(st.lists(_FATES, max_size=40), st.integers(0, 2**32))


def make_tree(fates: Sequence[Fate], shape_seed: int = 0, *, settings: Settings | None = None) -> Tree:
    """A tree whose edges are drawn with `shape_seed`, among the usable nodes; now and then a failure is mended."""
    return Tree(make_events(fates, shape_seed, settings=settings))


def make_events(fates: Sequence[Fate], shape_seed: int, *, settings: Settings | None = None) -> Iterator[Event]:
    rng = random.Random(shape_seed)
    tree = Tree()
    opened = sample_opened(settings)
    tree.append(opened)
    yield opened
    for step, fate in enumerate(fates, start=1):
        usable = [node.step for node in tree.frontier()]
        failed = [node.step for node in tree.nodes if not node.pending and not node.usable]
        among = failed if failed and rng.random() < 0.1 else sorted(usable)
        n_parents = min(len(among), rng.choice([0, 1, 1, 1, 2]))
        operator = (Operator.DRAFT, Operator.MUTATE, Operator.CROSS)[n_parents]
        move = Move(operator=operator, parents=tuple(rng.sample(among, n_parents)))
        repeat = fate == REPEAT and bool(usable)
        candidate = tree.node(usable[0]).candidate if repeat else sample_candidate(step)
        for event in _birth(step, move, fate, usable[0] if repeat else None):
            event = event.model_copy(update={"candidate": candidate}) if event.kind == "proposed" else event
            tree.append(event)
            yield event


def _birth(step: int, move: Move, fate: Fate, same_as: int | None) -> Iterator[Event]:
    yield sample_proposed(step, move=move)
    if fate is PENDING:
        return
    if same_as is None and fate in (FAILED, REPEAT):
        yield sample_judged(step, outcome=Outcome.WRONG)
    else:
        yield sample_judged(step, speedup=1.0 if same_as else float(fate), same_as=same_as)


def open_questions(tree: Tree, moves: Sequence[Move]) -> None:
    """The moves are asked about, and no answer has come yet."""
    for move in moves:
        number = len(tree.asks) + 1
        tree.append(Asked(ask=number, move=move, seq=max(1, tree.n_events), elapsed_s=tree.elapsed_s))
