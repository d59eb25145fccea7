"""A platform that is nowhere: same facts on every machine, for trying the loop and for tests."""

from __future__ import annotations

from kernelevolve.model.platform import PlatformFacts
from kernelevolve.platforms.base import Check


class FakePlatform:
    name = "fake"
    kind = "cpu"

    def facts(self) -> PlatformFacts:
        return PlatformFacts(
            name="fake", kind="cpu", model="imaginary machine", n_cores=2, isa=("avx2",),
            l1d_bytes=32 * 1024, l2_bytes=2**20, l3_bytes=32 * 2**20, memory_bytes=2**34,
            copy_gb_per_s=40.0, cached_copy_gb_per_s=200.0, fma_gflop_per_s=100.0,
        )  # fmt: skip

    def checks(self) -> list[Check]:
        return [Check(name="fake", ok=True, detail="always ready: nothing is compiled or run")]
