"""Processes started ahead: a context on a device takes longer to make than most candidates take to judge."""

from __future__ import annotations

from collections.abc import Callable

from kernelevolve.evaluation.cuda_runner import CudaRunner


class Spares:
    """One process in waiting. It is started while a candidate is checked and must stand still before one is timed."""

    def __init__(self, make: Callable[[], CudaRunner]) -> None:
        self._make = make
        self._spare: CudaRunner | None = None

    def take(self) -> CudaRunner:
        """Whoever takes it enters it, which is when it must be ready."""
        spare, self._spare = self._spare, None
        if spare is not None and not spare.alive:
            spare.close()
            spare = None
        return spare or self._make()

    def start(self) -> None:
        if self._spare is None:
            self._spare = self._make()

    def settle(self) -> None:
        """Return when the one in waiting does nothing any more. Raises MachineError."""
        if self._spare is not None:
            self._spare.wait_until_ready()

    def close(self) -> None:
        if self._spare is not None:
            self._spare.close()
            self._spare = None
