"""Admission: whether a task can be searched at all. A task that a fake answer passes proves nothing about a kernel."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kernelevolve.model.value import Value


class Control(Value):
    """A fake or an honest answer put before the task's own rule.

    `passed`: on how many of `tried` trials it was accepted; a trial is one seed and one shape with all the input
    distributions a candidate meets there. A fake must never be accepted, an honest answer always.
    """

    name: str
    kind: Literal["fake", "honest"]
    passed: int
    tried: int
    where: str = Field(default="", description="the first trial that went the wrong way")
    exact: bool = Field(default=False, description="accepted because it is the same answer, by algebra: reducible")

    @property
    def fault(self) -> bool:
        if self.kind == "honest":
            return self.passed < self.tried
        return self.passed > 0 and not self.exact


class Admission(Value):
    """The table of controls. `void`: the reasons why the task is refused; empty for an admitted one."""

    schema_version: Literal[1] = 1
    task_id: str
    controls: tuple[Control, ...]
    n_seeds: int

    @property
    def void(self) -> tuple[str, ...]:
        return tuple(_reason(control) for control in self.controls if control.fault)

    @property
    def reducible(self) -> tuple[str, ...]:
        """Parts of the operator that change nothing: honest kernels may leave them out."""
        return tuple(control.name for control in self.controls if control.exact and control.passed)


def _reason(control: Control) -> str:
    if control.kind == "honest":
        return f"an honest answer is refused: {control.name} ({control.where})"
    return f"a fake answer passes: {control.name} ({control.passed} of {control.tried} trials, {control.where})"
