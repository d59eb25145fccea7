"""What an agent is shown of a campaign as a whole: rows of its tree, the best so far, the claim at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelevolve.briefs.parts import busy_text
from kernelevolve.campaign.noise import disturbed_lately
from kernelevolve.interfaces.record import baseline_names
from kernelevolve.interfaces.wording import baseline_title, printable
from kernelevolve.model.brief import Move
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.verdict import MIN_CLAIM, Outcome, Timing, Verdict
from kernelevolve.queries import status_of
from kernelevolve.search.tree import Node, Tree

WINS = f"low above {MIN_CLAIM:g}, and on more than half of the shapes that shape's own interval above 1"
RANKED_BY = {"speedup": "the lower end of the search's interval, the highest first"}


def timing(timing: Timing | None) -> dict[str, Any] | None:
    """Against the faster baseline of each shape, geometric mean, with its interval. Not per shape: how much each one
    gains would tell them apart."""
    if timing is None:
        return None
    return {
        "level": timing.level, "speedup": round(timing.speedup, 4), "low": round(timing.low, 4),
        "high": round(timing.high, 4), "wins": timing.wins, "wins_when": WINS,
        **({} if timing.wins else {"missing_for_a_win": timing.shortfall}),
        "n_shapes": len(timing.shapes), "n_shapes_faster": timing.n_faster, "baselines": titles(baseline_names(timing)),
        **({"baselines_that_do_not_run": titles(timing.left_out)} if timing.left_out else {}),
    }  # fmt: skip


def titles(baselines: Sequence[str] | dict[str, str]) -> list[str]:
    return [baseline_title(name) for name in baselines]


def node_line(node: Node) -> dict[str, Any]:
    """A row of the tree."""
    found = node.verdict.timing if node.verdict else None
    return {
        "step": node.step, "operator": node.move.operator.value, "parents": list(node.move.parents),
        "language": node.candidate.language, "status": status_of(node), "same_as": node.same_as,
        "speedup": round(found.speedup, 4) if found else None, "low": round(found.low, 4) if found else None,
        "high": round(found.high, 4) if found else None,
        "intent": printable(node.candidate.origin.intent, 300),
    }  # fmt: skip


def rows(nodes: Sequence[Node]) -> list[dict[str, Any]]:
    return [node_line(node) for node in nodes]


def best(tree: Tree) -> dict[str, Any] | None:
    """While the search goes on the one that ranks first; after its end what was proved, and nothing else."""
    if tree.closed is None:
        first = tree.best()
        if first is None:
            return None
        fitness = tree.opened.settings.fitness if tree.opened else "speedup"
        proof = "a search measurement proves nothing: finish measures the best again"
        return {**node_line(first), "level": "screen", "ranked_by": RANKED_BY.get(fitness, fitness), "note": proof}
    winner = tree.closed.winner
    if winner is None:
        return None
    proved = tree.sealed.verdict if tree.sealed is not None else tree.confirmed[winner]
    return {**node_line(tree.node(winner)), **(timing(proved.timing) or {}), **_warning(proved)}


def busy_now(tree: Tree) -> str:
    """Of the latest step that was timed; empty on a quiet machine."""
    n_threads = disturbed_lately(tree)
    ends = "" if tree.closed else "; finish answers noisy until that is over"
    return f"{busy_text(n_threads)}{ends}" if n_threads else ""


def move_shown(move: Move) -> dict[str, Any]:
    return move.model_dump(mode="json")


def source(candidate: Candidate) -> dict[str, Any]:
    """A candidate of this campaign: the agent's own work."""
    return {
        "language": candidate.language,
        "flags": list(candidate.flags),
        "files": {file.path: file.text for file in candidate.files},
    }


def claim(tree: Tree) -> dict[str, Any]:
    """The end: what the finalists measured again were worth, and the one look at the sealed shapes."""
    closed, sealed = tree.closed, tree.sealed
    fixed = tree.opened is not None and tree.opened.task.fixed_size
    return {
        "winner": closed.winner if closed else None,
        "won": bool(closed and closed.winner is not None),
        "reason": closed.reason if closed else "",
        "proved_on": "the one size, in fresh processes on new content" if fixed else "shapes kept sealed until the end",
        "confirmed": [
            {"step": step, "outcome": verdict.outcome.value, "timing": timing(verdict.timing), **_warning(verdict)}
            for step, verdict in sorted(tree.confirmed.items())
        ],
        "sealed": _sealed(sealed.step, sealed.verdict) if sealed else None,
    }


def _sealed(step: int, verdict: Verdict) -> dict[str, Any]:
    """No message: what went wrong there could tell the shapes."""
    correct = verdict.outcome is Outcome.CORRECT
    found = {"step": step, "correct": correct, "outcome": verdict.outcome.value, "timing": timing(verdict.timing)}
    return {**found, **_warning(verdict)}


def _warning(verdict: Verdict) -> dict[str, str]:
    return {"warning": busy_text(verdict.disturbed)} if verdict.disturbed else {}


def facts(facts: PlatformFacts) -> dict[str, Any]:
    return facts.model_dump(mode="json")
