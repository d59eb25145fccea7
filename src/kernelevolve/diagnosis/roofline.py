"""The memory floor of one timed shape: counted bytes over the copy rate of where they live."""

from __future__ import annotations

from typing import Literal

from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.value import Value
from kernelevolve.model.verdict import ShapeTiming

Residence = Literal["cache", "memory", "unknown"]
HIGHEST_SHARE = 1.25
"""A kernel cannot beat the floor. Above this share, which leaves room for noise, the floor itself is wrong: the
operator touches less than all counted bytes, or the rate was measured on a busy machine."""

ONE_SIZE = "the fixed size"
"""How the shape of a task without axes is called."""


class Roofline(Value):
    """`share` is floor over latency: 1 means that time goes into moving the data and nothing else. `floor_us` and
    `share` are None where the machine's rate is not known."""

    shape: dict[str, int]
    latency_us: float
    n_bytes: int
    residence: Residence
    rate_gb_per_s: float | None = None
    floor_us: float | None = None
    share: float | None = None

    @property
    def believable(self) -> bool:
        return self.share is not None and self.share <= HIGHEST_SHARE

    @property
    def where(self) -> str:
        """The shape as text: "R=64, C=3072"."""
        return ", ".join(f"{name}={size}" for name, size in self.shape.items()) or ONE_SIZE


def roofline(timing: ShapeTiming, facts: PlatformFacts) -> Roofline:
    """The judge calls with warm inputs: what fits the caches is read from there."""
    residence = _residence(timing.bytes_moved, facts)
    rate = {"cache": facts.cached_copy_gb_per_s, "memory": facts.copy_gb_per_s, "unknown": None}[residence]
    known = bool(rate) and timing.bytes_moved > 0 and timing.latency_us > 0
    floor_us = timing.bytes_moved / rate / 1e3 if rate and known else None
    return Roofline(
        shape=timing.shape, latency_us=timing.latency_us, n_bytes=timing.bytes_moved, residence=residence,
        rate_gb_per_s=rate or None, floor_us=floor_us,
        share=floor_us / timing.latency_us if floor_us is not None else None,
    )  # fmt: skip


def _residence(n_bytes: int, facts: PlatformFacts) -> Residence:
    private = facts.l2_bytes * facts.n_cores if facts.l2_bytes else None
    last_level = facts.l3_bytes or private
    if last_level is None:
        return "unknown"
    return "cache" if n_bytes <= last_level else "memory"
