"""What went wrong elsewhere with caches of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.farm.process import ProcessFarm
from kernelevolve.selftest.corpus import default_root, read_entry
from kernelevolve.selftest.judging import caught, judged
from kernelevolve.toolchains.libcuda import gpu

pytestmark = [pytest.mark.device, pytest.mark.skipif(gpu() is None, reason="needs an NVIDIA GPU")]


@pytest.fixture(scope="module")
def farm(cache: Path) -> Iterator[ProcessFarm]:
    farm = ProcessFarm(n_threads=4, cache_dir=cache)
    yield farm
    farm.close()


def test_weights_held_in_the_cache_gain_nothing(farm: ProcessFarm) -> None:
    """PE26: both sides' caches are emptied before each call, sticky lines included."""
    entry = read_entry(default_root() / "attacks" / "T17_cuda_evict_last" / "attack.toml")
    said, why = judged(entry, farm, secret="peers", n_threads=4, sleep=lambda wait_s: None)
    assert caught(entry, said), f"{said}: {why}"
