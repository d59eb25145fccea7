"""Each honest kernel for a GPU is one that a naive rule rejects, and the judge's first look takes every one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.selftest.corpus import DEVICE_CODE, ON_GPU, Entry, default_root, honest
from kernelevolve.tasks import load_task
from kernelevolve.toolchains import make_toolchain
from tests.honest.naive_rules_cuda import CUDA_RULES

ON_DEVICE = [entry for entry in honest(default_root()) if entry.lane in DEVICE_CODE]
PLAIN = """extern "C" __global__ void copy(const float* x, float* y, long long N) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < N) y[i] = x[i];
}
"""
LAUNCH = """[[launch]]
kernel = "copy"
grid = ["(N+255)/256", "1", "1"]
block = ["256", "1", "1"]
args = ["x", "y", "N"]
"""


@pytest.mark.parametrize("entry", ON_DEVICE, ids=lambda entry: entry.name)
def test_its_rule_rejects_it_and_inspection_does_not(entry: Entry, tmp_path: Path) -> None:
    task, candidate = load_task(str(entry.task_folder), platform="cuda"), entry.candidate()
    assert CUDA_RULES[entry.rule](candidate)
    assert make_toolchain(ON_GPU[entry.lane], cache=tmp_path).inspect(task, candidate) is None


def test_every_rule_has_an_honest_victim() -> None:
    assert {entry.rule for entry in ON_DEVICE} == set(CUDA_RULES)


def test_no_rule_rejects_a_plain_kernel() -> None:
    files = (SourceFile(path="kernel.cu", text=PLAIN), SourceFile(path="launch.toml", text=LAUNCH))
    plain = Candidate(language="cuda", files=files, origin=Origin(proposer="test"))
    assert [name for name, rule in CUDA_RULES.items() if rule(plain)] == []


def test_enough_of_them() -> None:
    assert len(ON_DEVICE) >= 34
    assert len({str(entry.task_folder) for entry in ON_DEVICE}) >= 5
