"""The comparison: a direction, a scale, and no way through for NaN."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.evaluation.compare import Answer, compare, relative_l2
from kernelevolve.evaluation.tensors import tensor_bytes, unwritten
from kernelevolve.model.task import Rule, TensorSpec

SCALED = Rule(kind="scaled", rtol=1e-5, rms=1e-5)
BITWISE = Rule(kind="bitwise")


def judged(got: torch.Tensor, oracle: torch.Tensor, rule: Rule = SCALED) -> bool:
    """Whether `got` passes."""
    spec = TensorSpec(name="y", dtype=str(got.dtype).removeprefix("torch."), dims=("n",))
    return compare(spec, tensor_bytes(got.contiguous()), oracle, rule, {"n": got.numel()}) is None


def test_rounding_passes_and_half_precision_does_not() -> None:
    oracle = torch.randn(4000, dtype=torch.float64)
    assert judged(oracle.float(), oracle)
    assert not judged(oracle.bfloat16().float(), oracle)
    assert not judged(oracle.half().float(), oracle)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_zeros_never_pass_however_small_the_right_answer(scale: float) -> None:
    oracle = torch.randn(1000, dtype=torch.float64) * scale
    assert not judged(torch.zeros(1000), oracle)


def test_one_wrong_element_among_a_million_fails() -> None:
    oracle = torch.randn(1_000_000, dtype=torch.float64)
    got = oracle.float()
    got[777_777] += 1e-2
    assert not judged(got, oracle)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_non_finite_where_a_number_is_due_fails(bad: float) -> None:
    oracle = torch.ones(8, dtype=torch.float64)
    got = torch.ones(8)
    got[3] = bad
    assert not judged(got, oracle)


def test_non_finite_must_match_where_it_is_right() -> None:
    oracle = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0], dtype=torch.float64)
    assert judged(oracle.float(), oracle)
    assert not judged(torch.tensor([0.0, float("inf"), -float("inf"), 1.0]), oracle)
    assert not judged(torch.tensor([float("nan"), -float("inf"), -float("inf"), 1.0]), oracle)


def test_bitwise_is_bitwise() -> None:
    oracle = torch.tensor([0.0, 1.0])
    assert judged(torch.tensor([0.0, 1.0]), oracle, BITWISE)
    assert not judged(torch.tensor([-0.0, 1.0]), oracle, BITWISE)


def test_integers_are_exact_even_under_a_scaled_rule() -> None:
    oracle = torch.tensor([10**12, 5])
    assert judged(torch.tensor([10**12, 5]), oracle)
    assert not judged(torch.tensor([10**12 + 1, 5]), oracle)


def test_a_mismatch_says_where_and_what() -> None:
    spec = TensorSpec(name="y", dtype="float32", dims=("a", "b"))
    oracle = torch.ones(3, 4, dtype=torch.float64)
    got = torch.ones(3, 4)
    got[2, 1] = 1.5
    mismatch = compare(spec, tensor_bytes(got), oracle, SCALED, {"a": 3, "b": 4})
    assert mismatch is not None
    assert (mismatch.first_index, mismatch.got, mismatch.expected, mismatch.n_wrong) == ((2, 1), "1.5", "1", 1)
    assert mismatch.worst_error is not None
    assert mismatch.worst_error > 1000


def test_empty_outputs_and_scalars_are_compared() -> None:
    assert judged(torch.empty(0), torch.empty(0, dtype=torch.float64))
    spec = TensorSpec(name="y", dtype="float32")
    assert compare(spec, tensor_bytes(torch.tensor(2.0)), torch.tensor(2.0).double(), SCALED, {}) is None
    assert compare(spec, tensor_bytes(torch.tensor(2.1)), torch.tensor(2.0).double(), SCALED, {}) is not None


def test_poison_is_recognised_only_when_nothing_was_written() -> None:
    poison = torch.full((16,), 255, dtype=torch.uint8).numpy()
    assert unwritten(poison)
    poison[5] = 0
    assert not unwritten(poison)


def test_relative_l2_of_nan_is_infinite() -> None:
    spec = TensorSpec(name="s", dtype="float32", dims=("n",))
    oracle = torch.ones(4, dtype=torch.float64)
    assert relative_l2(spec, tensor_bytes(torch.ones(4) * 1.01), oracle) == pytest.approx(0.01, rel=1e-3)
    assert relative_l2(spec, tensor_bytes(torch.full((4,), float("nan"))), oracle) == float("inf")


def test_the_fast_way_and_the_slow_way_agree_at_the_edge() -> None:
    oracle = torch.randn(20_000, dtype=torch.float64)
    rms = float(oracle.pow(2).mean().sqrt())
    allowed = SCALED.rtol * oracle.abs() + SCALED.rms * rms
    for factor, passes in [(0.99, True), (-0.99, True), (1.02, False), (-1.02, False)]:
        got = (oracle + factor * allowed).float()
        assert judged(got, oracle) is passes


LOOSE = Rule(kind="scaled", rtol=1e-2, rms=1e-2)
SPEC = TensorSpec(name="y", dtype="float32", dims=("n",))


def test_a_loose_rule_does_not_let_a_narrower_format_through() -> None:
    """The rule alone would: an honest float32 kernel's error decides how far one may be off altogether."""
    oracle = torch.randn(5000, dtype=torch.float64)
    answer = Answer(SPEC, oracle, LOOSE, honest=(oracle * (1 + 1e-7)).float())
    half = tensor_bytes(oracle.half().float())
    assert answer.judge(half, {}) is not None
    assert answer.judge(half, {}, honest_error=False) is None
    assert answer.judge(tensor_bytes((oracle * (1 + 2e-6)).float()), {}) is None, "another order of summation"


def test_what_one_element_may_be_off_all_may_not() -> None:
    """Few elements off by nearly the allowance are within it; thousands of them are another arithmetic."""
    oracle = torch.randn(100_000, dtype=torch.float64)
    answer = Answer(SPEC, oracle, LOOSE, honest=oracle.float())
    few = oracle.clone()
    few[:3] += 5e-3
    mismatch = answer.judge(tensor_bytes((oracle + 5e-3).float()), {})
    assert mismatch is not None
    assert mismatch.worst_error is not None
    assert mismatch.worst_error > 1
    assert answer.judge(tensor_bytes((oracle * (1 + 3e-6)).float()), {}) is None


@given(st.integers(0, 2**31), st.sampled_from([1e-6, 1e-5, 1e-4]))
def test_a_slim_answer_decides_as_a_full_one(seed: int, size: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    oracle = torch.randn(300, dtype=torch.float64, generator=rng)
    got = tensor_bytes((oracle * (1 + size * torch.randn(300, dtype=torch.float64, generator=rng))).float())
    full, slim = Answer(SPEC, oracle, SCALED), Answer(SPEC, oracle, SCALED, again=lambda: oracle)
    assert (full.judge(got, {}) is None) == (slim.judge(got, {}) is None)
    assert slim.held_bytes == full.held_bytes


def test_a_foreign_suites_rule_lets_small_zeros_through_and_ours_does_not() -> None:
    oracle = torch.rand(1000, dtype=torch.float64) * 1e-5
    assert judged(torch.zeros(1000), oracle, Rule(kind="allclose", rtol=1e-4))
    assert not judged(torch.zeros(1000), oracle)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_an_exact_answer_written_down_once_is_always_right(dtype: str) -> None:
    """Numbers of every size, the smallest and those too large for the format among them."""
    generator = torch.Generator().manual_seed(5)
    oracle = torch.randn(4096, generator=generator, dtype=torch.float64) * 10.0 ** torch.randint(
        -9, 6, (4096,), generator=generator
    )
    spec = TensorSpec(name="y", dtype=dtype, dims=("N",))  # type: ignore[arg-type]
    answer = Answer(spec, oracle, Rule(kind="scaled", rtol=1e-7))
    written = oracle.to(getattr(torch, dtype))
    assert answer.judge(tensor_bytes(written), {"N": 4096}) is None
    off = torch.where(oracle.abs() > 1e-3, written * 1.02, written)
    assert answer.judge(tensor_bytes(off), {"N": 4096}) is not None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_at_the_edge_of_half_precision_the_largest_number_and_infinity_are_both_right(sign: float) -> None:
    """One kernel's sum comes to 65519, another's to 65521: rounding makes them the largest number and infinity."""
    spec, rule = TensorSpec(name="out", dtype="float16", dims=("N",)), Rule(kind="scaled", rtol=1e-3, rms=0.0)
    largest, infinite = sign * 65504.0, sign * torch.inf

    def right(value: float, oracle: float) -> bool:
        answers = torch.tensor([sign * 100.0, oracle], dtype=torch.float64)
        got = torch.tensor([sign * 100.0, value], dtype=torch.float16)
        return compare(spec, tensor_bytes(got), answers, rule, {"N": 2}) is None

    assert right(largest, sign * 65521.0)
    assert right(infinite, sign * 65519.0)
    assert right(infinite, sign * 65521.0)
    assert not right(largest, sign * 80000.0)
    assert not right(infinite, sign * 60000.0)
    assert not right(-infinite, sign * 65521.0)
    assert not right(float("nan"), sign * 65521.0)
