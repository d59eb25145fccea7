"""A Platform, as facts: what a machine is. Driving one is the business of `kernelevolve.platforms`."""

from __future__ import annotations

from pydantic import Field

from kernelevolve.model.value import Value


class PlatformFacts(Value):
    """What is known of a machine. A figure that was not measured is None, never 0."""

    name: str
    kind: str = Field(description="family that tasks and toolchains are keyed by: cpu, cuda, hip, fake")
    model: str = ""
    n_cores: int = Field(default=1, ge=1)
    isa: tuple[str, ...] = Field(default=(), description="instruction sets, e.g. avx2, avx512f")
    l1d_bytes: int | None = None
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    memory_bytes: int | None = None
    copy_gb_per_s: float | None = Field(default=None, description="measured, read + write, all cores, beyond cache")
    cached_copy_gb_per_s: float | None = Field(default=None, description="measured, read + write, resident in cache")
    nearest_copy_gb_per_s: float | None = Field(
        default=None, description="measured, read + write, all cores, within the first-level cache: nothing is faster"
    )
    fma_gflop_per_s: float | None = Field(default=None, description="measured, float32, all cores")
    compilers: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """One line for tables and reports."""
        rates = f", copy {self.copy_gb_per_s:.0f} GB/s" if self.copy_gb_per_s else ""
        return f"{self.model or self.name}, {self.n_cores} cores, {' '.join(self.isa) or 'baseline ISA'}{rates}"
