"""The end of a campaign: finalists are measured again, one of them is put to the one test on sealed shapes."""

from __future__ import annotations

from kernelevolve.campaign.journal import Journal
from kernelevolve.campaign.judging import Judging
from kernelevolve.campaign.noise import undecided, undecided_text
from kernelevolve.model.events import Closed, Confirmed, Sealed
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Timing, Verdict
from kernelevolve.search.tree import Node, Tree


def finish(journal: Journal, judging: Judging, *, stopped: str) -> Closed:
    """Search measurements choose the finalists but prove nothing: the best of many noisy numbers is too good. So the
    claim rests on new draws, and on sealed shapes that chose nothing and are used once. Goes on from where an earlier
    run was cut off."""
    _confirm_finalists(journal, judging)
    champion = _champion(journal.tree)
    if champion is None:
        return _close(journal, None, stopped, _why_no_champion(journal.tree))
    task = journal.opened.task
    if not task.shapes.sealed:
        note = f"step {champion.step} confirmed; the task has no sealed shapes, so the claim is for the search shapes"
        return _close(journal, champion.step, stopped, note)
    if journal.tree.sealed is None:
        journal.say(f"measuring step {champion.step} {_where(task)}")
        verdict = judging.verdict(judging.start(champion.candidate, "sealed", alpha=journal.sealed_alpha()))
        journal.record(Sealed(step=champion.step, verdict=verdict, elapsed_s=journal.elapsed_s))
    sealed = journal.tree.sealed
    assert sealed is not None
    if _wins(sealed.verdict):
        return _close(journal, sealed.step, stopped, f"step {sealed.step} is faster {_where(task)}")
    return _close(journal, None, stopped, _why_not_sealed(sealed, _where(task)))


def _where(task: Task) -> str:
    """With one size there is nothing to keep sealed but the content."""
    return "at the task's one size, in fresh processes on new content" if task.fixed_size else "on the sealed shapes"


def _confirm_finalists(journal: Journal, judging: Judging) -> None:
    if journal.tree.sealed is not None:
        return
    finalists = journal.tree.frontier(journal.settings.n_finalists)
    waiting = [node for node in finalists if node.step not in journal.tree.confirmed]
    started = [(node, judging.start(node.candidate, "confirm")) for node in waiting]
    for node, job in started:
        journal.say(f"measuring finalist step {node.step} again")
        verdict = judging.verdict(job)
        journal.record(Confirmed(step=node.step, verdict=verdict, elapsed_s=journal.elapsed_s))


def _champion(tree: Tree) -> Node | None:
    """The finalist with the highest confirmed lower bound (of equals the earliest), if it beats the baseline."""
    lows = {step: timing.low for step, verdict in tree.confirmed.items() if (timing := _timing(verdict))}
    best = min(lows, key=lambda step: (-lows[step], step), default=None)
    return tree.node(best) if best is not None and _wins(tree.confirmed[best]) else None


def _timing(verdict: Verdict) -> Timing | None:
    return verdict.timing if verdict.correct else None


def _wins(verdict: Verdict) -> bool:
    timing = _timing(verdict)
    return timing is not None and timing.wins


def _why_no_champion(tree: Tree) -> str:
    if not len(tree):
        return "nothing was proposed"
    if not tree.confirmed:
        return "no candidate was correct"
    if not any(verdict.correct for verdict in tree.confirmed.values()):
        return "no finalist was correct when judged again"
    if open_ones := [verdict for verdict in tree.confirmed.values() if undecided(verdict)]:
        return undecided_text(open_ones)
    nearest = max(tree.confirmed.items(), key=lambda item: timing.low if (timing := _timing(item[1])) else 0.0)
    missed = f"the nearest was step {nearest[0]}: {_missed(nearest[1])}"
    return f"no finalist was clearly faster than the baseline when measured again; {missed}"


def _missed(verdict: Verdict) -> str:
    timing = _timing(verdict)
    assert timing is not None
    busy = f"; the machine was busy: {verdict.disturbed:.1f} other threads" if verdict.disturbed else ""
    return f"{timing.speedup:.3g}x [{timing.low:.3g}..{timing.high:.3g}], {timing.shortfall}{busy}"


def _why_not_sealed(sealed: Sealed, where: str) -> str:
    """The next finalist is not tried: a second look would make the sealed shapes part of the search."""
    if _timing(sealed.verdict) is None:
        return f"step {sealed.step} failed {where} ({sealed.verdict.outcome.value})"
    if undecided(sealed.verdict):
        return f"step {sealed.step} {where}: {undecided_text([sealed.verdict])}"
    return f"step {sealed.step} is not clearly faster {where}: {_missed(sealed.verdict)}"


def _close(journal: Journal, winner: int | None, stopped: str, outcome: str) -> Closed:
    closed = Closed(winner=winner, reason=f"{outcome} ({stopped})", elapsed_s=journal.elapsed_s)
    journal.record(closed)
    return closed
