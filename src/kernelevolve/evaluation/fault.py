"""How a stage says that the candidate failed. Caught by `evaluate`, which turns it into a Verdict."""

from __future__ import annotations

from kernelevolve.model.verdict import CompileMessage, Mismatch, Outcome


class CandidateFault(Exception):
    """Never leaves the evaluation package: outside, a candidate's failure is a value."""

    def __init__(
        self,
        outcome: Outcome,
        message: str,
        *,
        mismatch: Mismatch | None = None,
        compile_messages: tuple[CompileMessage, ...] = (),
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message
        self.mismatch = mismatch
        self.compile_messages = compile_messages


class StrangeWork(CandidateFault):
    """The device ran somebody else's work in a moment in which nobody may have any. Whose it is only shows once the
    candidate's process is gone: until then this is a suspicion."""

    def __init__(self, worst_gap_ns: int) -> None:
        super().__init__(
            Outcome.CLOCK_DISPUTED,
            f"the device worked for somebody else while the candidate stood still ({worst_gap_ns / 1e3:.0f} us at a "
            "stretch)",
        )
