"""The check that an exported package brings along: it lets through what the judge lets through, in every format."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from package_samples import campaign, imported

from kernelevolve.evaluation.compare import compare
from kernelevolve.evaluation.tensors import tensor_bytes
from kernelevolve.interfaces.export.write import export_package
from kernelevolve.model.task import DType, Rule, TensorSpec

SPECIAL = (0.0, float("inf"), float("nan"), 65519.0, 65521.0)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("own") / "row_mix"
    export_package([campaign("")], folder)
    return imported(folder, "test_row_mix")


def passes(own: ModuleType, got: torch.Tensor, wanted: torch.Tensor, rule: Rule) -> bool:
    own.PLAN["rule"] = {"kind": rule.kind, "rtol": rule.rtol, "rms": rule.rms}
    try:
        own.assert_right(got, wanted, "here")
    except AssertionError:
        return False
    return True


@settings(deadline=None, max_examples=300)
@given(
    dtype=st.sampled_from(["float16", "bfloat16", "float32", "float64"]), seed=st.integers(0, 2**31),
    size=st.sampled_from([1e-8, 1e-3, 1.0, 300.0, 60000.0]), off=st.sampled_from([0.0, 0.3, 0.9, 1.1, 3.0]),
    rms=st.sampled_from([0.0, 1e-5, 0.01]), special=st.sampled_from(SPECIAL),
)  # fmt: skip
def test_it_says_what_the_judge_says(
    own: ModuleType, dtype: DType, seed: int, size: float, off: float, rms: float, special: float
) -> None:
    rule = Rule(kind="scaled", rtol=1e-5, rms=rms)
    generator = torch.Generator().manual_seed(seed)
    oracle = torch.randn(40, generator=generator, dtype=torch.float64) * size
    oracle[0] = special
    scale = oracle[1:].pow(2).mean().sqrt()
    noise = torch.rand(40, generator=generator, dtype=torch.float64) * 2 - 1
    got = (oracle + noise * off * (1e-5 * oracle.abs() + rms * scale)).to(getattr(torch, dtype))
    judged = compare(TensorSpec(name="out", dtype=dtype, dims=("N",)), tensor_bytes(got), oracle, rule, {"N": 40})
    assert passes(own, got, oracle, rule) == (judged is None)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_exact_answer_written_down_in_16_bits_is_right(own: ModuleType, dtype: torch.dtype) -> None:
    """A package whose output was bfloat16 called its own kernel wrong: 1e-5 is finer than the format."""
    exact = torch.randn(1000, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    rule = Rule(kind="scaled", rtol=1e-5, rms=1e-5)
    assert passes(own, exact.to(dtype), exact, rule)
    assert not passes(own, (exact * 1.02).to(dtype), exact, rule)


def test_a_shape_that_has_no_inputs_is_passed_over(own: ModuleType) -> None:
    wanted = own.PLAN["shapes"][2]
    made = own.exported.OPERATOR.reference_module.make_inputs

    def picky(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, object]:
        if sizes != wanted[0]:
            raise ValueError("these axes contradict each other")
        return made(sizes, rng, variant)  # type: ignore[no-any-return]

    own.exported.OPERATOR.reference_module.make_inputs = picky
    try:
        shape, key, inputs = own.first_drawn()
    finally:
        own.exported.OPERATOR.reference_module.make_inputs = made
    assert (shape, key) == wanted
    assert set(inputs) == {"x", "state", "shift", "factor"}
