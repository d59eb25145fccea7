"""What a running campaign looks like: a live panel on a terminal, one line per verdict elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kernelevolve.interfaces.claim import baseline_means
from kernelevolve.interfaces.record import Record
from kernelevolve.interfaces.wording import baseline_title, duration, interval, one_line, sparkline, times
from kernelevolve.model.events import Closed, Confirmed, Event, Judged, Proposed, Sealed
from kernelevolve.model.verdict import Timing, Verdict

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class Watch:
    """The numbers on display, kept up to date event by event."""

    def __init__(self, record: Record, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock() - record.elapsed_s
        self.campaign_id = record.campaign_id
        self.task_name = record.opened.task.name
        self.settings = record.opened.settings
        self.counts: Counter[str] = Counter(record.counts())
        self.counts.pop("pending", None)
        self.n_proposed = len(record.rows)
        self.curve = [best for _, best in record.best_so_far()]
        leader = record.leader
        self.best: tuple[int, Timing] | None = None
        if leader and leader.verdict and leader.verdict.timing:
            self.best = (leader.step, leader.verdict.timing)
        self.intents = {
            row.step: _intent(row.move.operator.value, row.candidate.origin.intent) for row in record.rows.values()
        }
        self.current = ""
        self.status = "starting the judge"

    def on_event(self, event: Event) -> None:
        if isinstance(event, Proposed):
            self.n_proposed += 1
            self.intents[event.step] = _intent(event.move.operator.value, event.candidate.origin.intent)
            self.current = f"step {event.step}  {self.intents[event.step]}"
        elif isinstance(event, Judged):
            self.counts["duplicate" if event.same_as else event.verdict.outcome.value] += 1
            timing = event.verdict.timing
            if timing and event.same_as is None and (self.best is None or timing.low > self.best[1].low):
                self.best = (event.step, timing)
            self.curve.append(max(1.0, self.best[1].speedup if self.best else 1.0))

    def on_status(self, text: str) -> None:
        self.status = one_line(text, 160)

    @property
    def left_s(self) -> float:
        return max(0.0, self.settings.max_seconds - (self._clock() - self._started))

    def best_text(self) -> str:
        """The best kernel of the search against every baseline."""
        if self.best is None:
            return "nothing correct yet"
        step, timing = self.best
        against = ", ".join(f"{times(mean)} against {baseline_title(name)}" for name, mean in baseline_means(timing))
        return f"step {step}: {against}"

    def counts_text(self) -> str:
        return (
            ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in self.counts.most_common())
            or "none yet"
        )


class PlainView:
    """One line per verdict; for logs and pipes."""

    def __init__(self, watch: Watch, console: Console) -> None:
        self._watch = watch
        self._console = console

    def __enter__(self) -> Self:
        self._say(f"campaign {self._watch.campaign_id}: {self._watch.task_name}")
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def on_event(self, event: Event) -> None:
        self._watch.on_event(event)
        line = event_line(event, self._watch)
        if line:
            self._say(line)

    def on_status(self, text: str) -> None:
        self._watch.on_status(text)

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


class LiveView:
    """A panel that redraws itself."""

    def __init__(self, watch: Watch, console: Console) -> None:
        from rich.live import Live

        self._watch = watch
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._panel, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def on_event(self, event: Event) -> None:
        self._watch.on_event(event)
        if isinstance(event, Confirmed | Sealed):
            self._live.console.print(event_line(event, self._watch))

    def on_status(self, text: str) -> None:
        self._watch.on_status(text)

    def _panel(self) -> RenderableType:
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        watch = self._watch
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="ellipsis", no_wrap=True)
        grid.add_row("best", Text(watch.best_text(), style="bold green" if watch.best else "dim"))
        grid.add_row("so far", Text(sparkline(watch.curve, 48), style="green"))
        grid.add_row("verdicts", Text(watch.counts_text()))
        grid.add_row("trying", Text(watch.current))
        grid.add_row("now", Text(watch.status, style="dim"))
        left = (
            f"{watch.n_proposed} of {watch.settings.max_candidates} candidates, {duration(watch.left_s)} of search left"
        )
        grid.add_row("left", Text(left))
        title = Text(f"{watch.task_name}  {watch.campaign_id}")
        return Panel(grid, title=title, title_align="left", border_style="dim")


def event_line(event: Event, watch: Watch) -> str:
    """One line, empty for events not worth one."""
    if isinstance(event, Judged):
        verdict = event.verdict
        status = f"same as {event.same_as}" if event.same_as else verdict.outcome.value.replace("_", " ")
        speed = times(verdict.timing.speedup) if verdict.timing and event.same_as is None else ""
        text = watch.intents.get(event.step, "") if verdict.correct else one_line(verdict.message)
        best = f"best {times(watch.best[1].speedup)}" if watch.best else ""
        return f"{event.step:>5}  {status:<14} {speed:>7}  {best:<11} {one_line(text, 120)}".rstrip()
    if isinstance(event, Confirmed):
        return f"measured again, step {event.step}: {_outcome_text(event.verdict)}"
    if isinstance(event, Sealed):
        return f"sealed shapes, step {event.step}: {_outcome_text(event.verdict)}"
    if isinstance(event, Closed):
        return f"finished: {one_line(event.reason)}"
    return ""


def _outcome_text(verdict: Verdict) -> str:
    if verdict.timing is None:
        return f"{verdict.outcome.value} {one_line(verdict.message, 120)}".strip()
    timing = verdict.timing
    return f"{times(timing.speedup)} [{interval(timing.low, timing.high)}]"


def _intent(operator: str, intent: str) -> str:
    return one_line(f"{operator}: {intent}" if intent else operator, 120)
