"""Whether this is a time to prove anything: a campaign is closed once, so not on what a busy machine measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelevolve.errors import NoisyError
from kernelevolve.model.verdict import MIN_CLAIM, Verdict
from kernelevolve.search.tree import Tree

QUIET = 0.4
"""Other runnable threads, on average; the judge notes a machine as busy from there on."""
N_INTERVALS = 3


def disturbed_lately(tree: Tree) -> float:
    """Other runnable threads beside the latest step that was timed; 0 on a quiet machine."""
    timed = (node.verdict for node in reversed(tree.nodes) if node.same_as is None and node.verdict)
    last = next((verdict for verdict in timed if verdict.timing), None)
    return last.disturbed if last is not None else 0.0


def noisy_finish(tree: Tree) -> str:
    """What speaks against ending the search now, and the cost; empty on a quiet machine, and once the end has begun."""
    if tree.opened is None or tree.confirmed or tree.sealed or tree.closed:
        return ""
    n_threads = disturbed_lately(tree)
    if not n_threads:
        return ""
    n = min(tree.opened.settings.n_finalists, tree.n_usable)
    sealed = ""
    if tree.opened.task.shapes.sealed:
        sealed = " and may use a look at the sealed shapes, each of which makes the next claim for this task harder"
    return (
        f"the machine is busy: {n_threads:.1f} other threads were runnable while the last candidate was timed; finish "
        f"would measure the best {n} again{sealed}, would likely prove nothing with intervals this wide and closes the "
        "campaign for good"
    )


def check_quiet(doubt: str, *, others_now: Callable[[], float] | None) -> None:
    """`doubt`: of `noisy_finish`. `others_now`: other runnable threads at the moment; None where that cannot be told,
    as while we judge. Raises NoisyError unless there is no doubt, or the machine has become quiet."""
    if not doubt:
        return
    now = others_now() if others_now is not None else None
    if now is None or now > QUIET:
        seen = f"; at this moment {now:.1f} are" if now is not None else ""
        raise NoisyError(f"{doubt}{seen}. Nothing was begun")


def undecided(verdict: Verdict) -> bool:
    """Whether noise alone may stand between this and a win: the machine was busy and the interval has both in it."""
    timing = verdict.timing
    return timing is not None and bool(verdict.disturbed) and timing.low <= MIN_CLAIM < timing.high


def undecided_text(verdicts: Sequence[Verdict]) -> str:
    """Of such verdicts, at least one; the nearest to a win first."""
    timings = sorted((verdict.timing for verdict in verdicts if verdict.timing), key=lambda timing: -timing.low)
    intervals = ", ".join(f"from {timing.low:.3g} to {timing.high:.3g}" for timing in timings[:N_INTERVALS])
    n_threads = max(verdict.disturbed for verdict in verdicts)
    return (
        f"undecided: the machine was busy ({n_threads:.1f} other threads), interval{'s' * (len(timings) > 1)} "
        f"{intervals}; measure again on a quiet machine"
    )
