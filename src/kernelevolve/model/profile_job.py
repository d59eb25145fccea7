"""A ProfileJob: candidates for a GPU made ready on disk, so that a profiler's process can launch them without a judge.

It has the inputs of one shape and no answer: a profile never says whether a candidate is right.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kernelevolve.model.task import Shape
from kernelevolve.model.value import Value

Sizes = tuple[int, int, int]


class ProfileArgument(Value):
    """pointer: byte of the arena. scratch: its number. integer: the number. real: the bits of a double."""

    kind: Literal["pointer", "scratch", "integer", "real"]
    value: int


class ProfileLaunch(Value):
    """One launch of a call. `parameter_bytes`: what the machine code takes for each argument."""

    kernel: str = Field(description="its name in the plan")
    function: str = Field(description="its name in the machine code")
    cubin: str = Field(description="path of the machine code")
    grid: Sizes
    block: Sizes
    shared_bytes: int = 0
    arguments: tuple[ProfileArgument, ...] = ()
    parameter_bytes: tuple[int, ...] = ()

    @property
    def n_blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]


class ProfiledCandidate(Value):
    label: str
    candidate_id: str = ""
    launches: tuple[ProfileLaunch, ...]
    scratch: tuple[int, ...] = Field(default=(), description="bytes of each")
    messages: tuple[str, ...] = Field(default=(), description="what the assembler said of its kernels")


class ProfileJob(Value):
    shape: Shape
    bytes_moved: int = Field(description="inputs read once, outputs written once, or what the task says")
    arena: str = Field(description="path of a file: the bytes of all tensors of one call")
    arena_bytes: int
    cold: bool = True
    candidates: tuple[ProfiledCandidate, ...]
