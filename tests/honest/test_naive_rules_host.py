"""Each honest Python kernel for a GPU is one that a naive rule rejects; what can run here agrees with the oracle."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.selftest.corpus import ON_GPU, Entry, default_root, honest
from kernelevolve.tasks import load_task
from kernelevolve.toolchains import make_toolchain
from kernelevolve.toolchains.base import Artifact
from tests.attacks.naive.harness import load_module
from tests.honest.naive_rules_host import HOST_RULES
from tests.honest.observe import copied, double, poisoned

OF_HOST = [entry for entry in honest(default_root()) if entry.lane == "cuda_python"]
PLAIN = "from library import launch\n\n\ndef copy(x, y, N):\n    launch('mul', x, y, N)\n"
IDS = lambda entry: entry.name  # noqa: E731 - as parametrize wants it


@pytest.mark.parametrize("entry", OF_HOST, ids=IDS)
def test_its_rule_rejects_it_and_the_first_look_does_not(entry: Entry, tmp_path: Path) -> None:
    task, candidate = load_task(str(entry.task_folder), platform="cuda"), entry.candidate()
    toolchain = make_toolchain(ON_GPU[entry.lane], cache=tmp_path)
    assert HOST_RULES[entry.rule](candidate)
    assert toolchain.inspect(task, candidate) is None
    assert isinstance(toolchain.build(task, candidate, timeout_s=10.0), Artifact)


@pytest.mark.parametrize("entry", [entry for entry in OF_HOST if entry.options.get("on_cpu")], ids=IDS)
def test_on_tensors_of_the_host_it_agrees_with_the_oracle(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice, with new content in the same memory: what is kept between calls must not be an answer."""
    task = load_task(str(entry.task_folder), platform="cpu")
    module = load_module(entry.task_folder / "reference.py", f"reference_of_{entry.name}")
    monkeypatch.syspath_prepend(entry.folder)
    function = getattr(load_module(entry.source, f"candidate_{entry.name}"), task.entry)
    shape = task.shapes.search[0]
    outputs = [poisoned(spec, dict(shape)) for spec in task.outputs]
    held = module.make_inputs(dict(shape), torch.Generator().manual_seed(0), "nominal")
    with torch.no_grad():
        for seed in (1, 2):
            drawn = module.make_inputs(dict(shape), torch.Generator().manual_seed(seed), "nominal")
            wide = {name: double(value) for name, value in drawn.items()}
            for name, value in drawn.items():
                held[name].copy_(value)
            wanted = getattr(module, "oracle", module.reference)(**wide)
            inputs = [held[spec.name] for spec in task.inputs]
            before = {spec.name: copied(held[spec.name]) for spec in task.inputs if not spec.in_place}
            assert function(*inputs, *outputs, *(shape[axis.name] for axis in task.axes)) is None
            torch.testing.assert_close(outputs[0].double(), wanted.double(), rtol=1e-4, atol=1e-4)
            assert all(torch.equal(held[name], value) for name, value in before.items())
            for spec in task.inputs:
                if spec.in_place:
                    torch.testing.assert_close(held[spec.name].double(), wide[spec.name], rtol=1e-5, atol=1e-5)
    sys.modules.pop("scaling", None)


def test_every_rule_has_an_honest_victim() -> None:
    assert {entry.rule for entry in OF_HOST} == set(HOST_RULES)


def test_no_rule_rejects_a_plain_launch() -> None:
    files = (SourceFile(path="kernel.py", text=PLAIN),)
    plain = Candidate(language="python", files=files, origin=Origin(proposer="test"))
    assert [name for name, rule in HOST_RULES.items() if rule(plain)] == []


def test_a_module_beside_the_kernel_is_part_of_the_candidate() -> None:
    several = next(entry for entry in OF_HOST if entry.name == "F4_cuda_python_several_files")
    assert [file.path for file in several.candidate().files] == ["kernel.py", "scaling.py"]


def test_enough_of_them() -> None:
    assert len(OF_HOST) >= 12
    assert len({str(entry.task_folder) for entry in OF_HOST}) >= 4
