"""A Verdict: what the judge found. Timing exists if and only if the candidate is correct."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from kernelevolve.model.task import Shape
from kernelevolve.model.value import Value


class Stage(StrEnum):
    INSPECT = "inspect"
    BUILD = "build"
    CHECK = "check"
    MEASURE = "measure"


class Outcome(StrEnum):
    """Default is failure: `correct` needs positive evidence on every shape."""

    CORRECT = "correct"
    REJECTED = "rejected"  # inspect: not a candidate for this task
    BUILD_FAILED = "build_failed"
    LOAD_FAILED = "load_failed"  # the library or its entry point could not be loaded
    CRASHED = "crashed"  # killed by a signal
    FORBIDDEN = "forbidden"  # killed by the sandbox: a system call no kernel needs
    TIMEOUT = "timeout"
    EXITED_EARLY = "exited_early"  # the process ended before it had answered
    REFUSED = "refused"  # the entry point returned non-zero for a shape inside the domain
    UNWRITTEN = "unwritten"  # output bytes still hold the poison
    OUT_OF_BOUNDS = "out_of_bounds"  # a guard band was overwritten
    INPUT_CHANGED = "input_changed"
    WRONG = "wrong"
    UNSTABLE = "unstable"  # right at first, wrong in a later call
    CLOCK_DISPUTED = "clock_disputed"  # two clocks do not agree: more processor time than the wall clock has room for
    TOO_FAST = "too_fast"  # below what this machine can move or compute: an audit, never a record


class CompileMessage(Value):
    file: str
    line: int = 0
    column: int = 0
    severity: Literal["error", "warning", "note"] = "error"
    message: str


class Mismatch(Value):
    """Where a candidate's answer differs."""

    tensor: str
    shape: Shape
    n_wrong: int
    n_total: int
    first_index: tuple[int, ...] = ()
    got: str = ""
    expected: str = ""
    worst_error: float | None = Field(default=None, description="in units of the allowed error")


BUSY = "machine busy: other runnable threads"
"""How the note of a measure stage starts when other work ran beside it; the average number of threads follows."""


class StageReport(Value):
    stage: Stage
    seconds: float
    note: str = ""


class Comparison(Value):
    """One baseline beside the candidate on one shape. `log_ratios` are ln(baseline/candidate), one per
    interleaved pair, raw. `speedup` is exp(median), `low`..`high` its 95 % interval."""

    baseline: str
    baseline_us: float
    candidate_us: float
    speedup: float
    low: float
    high: float
    log_ratios: tuple[float, ...]


class ShapeTiming(Value):
    shape: Shape
    latency_us: float = Field(description="median time of one call, outside clock")
    slope_us: float | None = Field(
        default=None, description="what each further call of a sample adds: free of the cost of waking the process"
    )
    bytes_moved: int = Field(description="inputs read once, outputs written once")
    energy_uj: float | None = Field(default=None, gt=0, description="of one call, where the device tells it")
    floor_us: float | None = Field(default=None, description="bytes_moved over the machine's measured copy rate")
    comparisons: tuple[Comparison, ...]

    @property
    def against_best(self) -> Comparison:
        """The comparison with the fastest baseline: the hardest one to win."""
        return min(self.comparisons, key=lambda comparison: comparison.speedup)


MIN_CLAIM = 1.01
"""A gain of one per cent is what these clocks can tell from nothing on a quiet machine; less is called equal."""


class Timing(Value):
    """screen: few pairs, for search. confirm: many pairs, fresh process. sealed: the final claim."""

    level: Literal["screen", "confirm", "sealed"]
    shapes: tuple[ShapeTiming, ...]
    speedup: float = Field(description="geometric mean over shapes against the better baseline of each shape")
    low: float
    high: float
    alpha: float = Field(
        default=0.05, description="how often the interval may miss; smaller when sealed shapes are reused"
    )

    left_out: dict[str, str] = Field(default={}, description="baselines that could not be run here, and why")

    @property
    def wins(self) -> bool:
        """Faster beyond what the clocks can tell, as a whole and on more than half of the shapes: one shape that is a
        hundred times as fast does not pay for the others."""
        return self.low > MIN_CLAIM and 2 * self.n_faster > len(self.shapes)

    @property
    def n_faster(self) -> int:
        """Shapes on which the whole interval is above 1."""
        return sum(shape.against_best.low > 1.0 for shape in self.shapes)

    @property
    def shortfall(self) -> str:
        """Which criterion of `wins` does not hold, in words that name no shape; empty for a win."""
        if self.wins:
            return ""
        if self.low > MIN_CLAIM:
            return (
                f"its own interval is above 1 on {self.n_faster} of {len(self.shapes)} shapes, and reaches down to 1 "
                "or below on the others; it must be above 1 on more than half of them"
            )
        if self.speedup <= MIN_CLAIM:
            return f"that is no gain; the interval's lower end must be above {MIN_CLAIM:g}"
        return (
            f"too noisy to prove, or too small a gain: the interval goes from {self.low:.3g} to {self.high:.3g}, and "
            f"its lower end must be above {MIN_CLAIM:g}"
        )


LaneName = Literal["host", "device_code"]
"""device_code: our own code enters the candidate's kernel. host: the candidate's own host code decides."""


class Verdict(Value):
    schema_version: Literal[1] = 1
    task_id: str
    candidate_id: str
    outcome: Outcome
    stage: Stage = Field(description="the last stage that ran")
    message: str = ""
    compile_messages: tuple[CompileMessage, ...] = ()
    mismatch: Mismatch | None = None
    output: str = Field(default="", description="what the candidate printed, at most 4 KiB")
    stages: tuple[StageReport, ...] = ()
    n_checks: int = Field(default=0, description="calls whose whole output was compared")
    lane: LaneName = "host"
    isolation: tuple[str, ...] = Field(default=(), description="sandbox mechanisms that were active")
    timing: Timing | None = None

    @model_validator(mode="after")
    def _timing_iff_correct(self) -> Self:
        if self.timing is not None and self.outcome is not Outcome.CORRECT:
            raise ValueError(f"a verdict of {self.outcome} cannot carry a timing")
        if self.outcome is Outcome.CORRECT and self.n_checks < 1:
            raise ValueError("correct needs at least one compared call")
        return self

    @property
    def disturbed(self) -> float:
        """Other runnable threads while this was timed, the worst stage's average; 0 on a quiet machine."""
        notes = [report.note.removeprefix(BUSY) for report in self.stages if report.note.startswith(BUSY)]
        return max((float(note) for note in notes), default=0.0)

    @property
    def correct(self) -> bool:
        return self.outcome is Outcome.CORRECT
