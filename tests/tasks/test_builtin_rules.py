"""The rules: what must pass does so with room, and answers that leave something out do not pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernelevolve.model.task import Shape
from tests.tasks.builtin_case import (  # noqa: F401  one_thread is a fixture
    NAMES,
    Inputs,
    Results,
    call,
    make,
    module_of,
    one_thread,
    shrunk,
    task_of,
    truth,
    upcast,
    variants,
    worst,
)

SCALED = [name for name in NAMES if task_of(name).rule.kind == "scaled"]
SCALES = (3.0, 0.01, -1.0)


def scaled(name: str, inputs: Inputs, factor: float) -> Inputs:
    static = {spec.name for spec in task_of(name).inputs if spec.static}
    return {
        key: value * factor if isinstance(value, Tensor) and value.is_floating_point() and key not in static else value
        for key, value in inputs.items()
    }


def rounded(inputs: Inputs, bits: int) -> Inputs:
    """Floating tensors with `bits` bits of mantissa: 10 is TF32, 7 bfloat16."""
    keep = 23 - bits

    def shorten(value: Tensor) -> Tensor:
        return ((value.view(torch.int32) + (1 << (keep - 1))) & -(1 << keep)).view(torch.float32)

    return {
        key: shorten(value) if isinstance(value, Tensor) and value.dtype == torch.float32 else value
        for key, value in inputs.items()
    }


@pytest.mark.parametrize("name", SCALED)
def test_float32_passes_with_room(name: str) -> None:
    shape, rule = shrunk(name, 96), task_of(name).rule
    cases = [make(name, shape, variant=variant) for variant in module_of(name).VARIANTS]
    cases += [scaled(name, make(name, shape), factor) for factor in SCALES]
    for inputs in cases:
        assert worst(rule, call(name, inputs, shape), call(name, upcast(inputs), shape)) < 0.4


@pytest.mark.parametrize("name", SCALED)
def test_shorter_mantissas_fail(name: str) -> None:
    shape, inputs = shrunk(name, 64), make(name, shrunk(name, 64))
    for bits in (10, 7):
        assert (
            worst(task_of(name).rule, call(name, rounded(inputs, bits), shape), call(name, upcast(inputs), shape)) > 5
        )


@pytest.mark.parametrize("name", NAMES)
def test_answers_that_ignore_the_inputs_fail(name: str) -> None:
    shape, rule = shrunk(name, 40), task_of(name).rule
    inputs = make(name, shape)
    expected = truth(name, inputs, shape)
    other = call(name, make(name, shape, seed=2), shape)
    first = next(value for value in inputs.values() if isinstance(value, Tensor))
    for blind in (
        {key: torch.zeros_like(value) for key, value in expected.items()},
        {key: _fitted(first, value) for key, value in expected.items()},
        {key: _fitted(other[key], value) for key, value in expected.items()},
    ):
        for key in expected:
            assert worst(rule, blind, {key: expected[key]}) > 1, key


def _fitted(source: Tensor, like: Tensor) -> Tensor:
    """The values of `source`, repeated or cut to the shape of `like`."""
    flat = source.flatten().repeat(-(-like.numel() // max(source.numel(), 1)))
    return flat[: like.numel()].view(like.shape).to(like.dtype)


def map_id_counting_from_the_last(v: Tensor, table: Tensor) -> Tensor:
    position = torch.bucketize(v, table, right=True)
    return torch.where(table[(position - 1).clamp(min=0)] == v, position, 0)


def map_id_in_32_bits(v: Tensor, table: Tensor) -> Tensor:
    return module_of("map_id").reference(v & 0xFFFFFFFF, (table & 0xFFFFFFFF).sort().values)  # type: ignore[no-any-return]


def merge_with_upper_bounds(x: Tensor, borders: Tensor, border_offsets: Tensor) -> Tensor:
    pieces = [borders[start:stop] for start, stop in zip(border_offsets[:-1], border_offsets[1:], strict=True)]
    shift = border_offsets + torch.arange(border_offsets.numel())
    return torch.stack(
        [torch.bucketize(row, own, right=True) + s for row, own, s in zip(x, pieces, shift, strict=False)]
    )


def hash_with_truncated_division(ids: Tensor, salt: int, max_value: int) -> Tensor:
    full = module_of("sigrid_hash").reference(ids, salt, 2**63 - 1)
    return torch.fmod(full, max_value)


def bucketize_upper(values: Tensor, borders: Tensor) -> Tensor:
    return torch.bucketize(values, borders, right=True, out_int32=True)


def bucketize_with_nan_first(values: Tensor, borders: Tensor) -> Tensor:
    return torch.bucketize(values, borders, out_int32=True).masked_fill_(values.isnan(), 0)


def bucketize_without_twins(values: Tensor, borders: Tensor) -> Tensor:
    return torch.bucketize(values, borders, out_int32=True).masked_fill_(values.isnan(), 1)


def keep_the_last_events(outer: Tensor, inner: Tensor, values: Tensor, limit: int) -> tuple[Tensor, Tensor, Tensor]:
    start = torch.repeat_interleave(outer.cumsum(0), outer)
    kept = start - torch.arange(inner.shape[1]) <= limit
    return (
        outer.clamp(max=limit),
        inner[:, kept],
        values[torch.repeat_interleave(kept.repeat(len(inner)), inner.flatten())],
    )


def pad_from_the_first_value(values: Tensor, offsets: Tensor, padding: float, L: int) -> Tensor:
    return module_of("jagged_to_padded_dense").reference(values, offsets - offsets[0], padding, L)  # type: ignore[no-any-return]


def pool_with_pruned_as_row_zero(tables: Tensor, indices: Tensor, offsets: Tensor) -> Tensor:
    return module_of("jagged_pooled_embedding").reference(tables, indices.clamp(min=0), offsets)  # type: ignore[no-any-return]


def lower_triangle(dense: Tensor, sparse: Tensor) -> Tensor:
    rows = torch.cat([dense[:, None], sparse], 1)
    i, j = torch.tril_indices(rows.shape[1], rows.shape[1], -1)
    return torch.cat([dense, (rows @ rows.transpose(1, 2))[:, i, j]], 1)


def fm_without_the_diagonal(x: Tensor, y: Tensor) -> Tensor:
    gram = x @ x.transpose(1, 2)
    return (gram - torch.diag_embed(gram.diagonal(dim1=1, dim2=2))) @ y


def pffn(
    x: Tensor, w1: Tensor, b1: Tensor, g1: Tensor, w2: Tensor, b2: Tensor, g2: Tensor,
    approximate: str = "none", first_norm: bool = True, second_bias: float = 1,
) -> Tensor:  # fmt: skip
    hidden = F.gelu(torch.baddbmm(b1, x, w1), approximate=approximate)
    hidden = F.rms_norm(hidden, g1.shape, g1, 1e-6) if first_norm else hidden * g1
    return F.rms_norm(torch.baddbmm(b2 * second_bias, hidden, w2), g2.shape, g2, 1e-6)


def tanh_gelu(x: Tensor, w1: Tensor, b1: Tensor, g1: Tensor, w2: Tensor, b2: Tensor, g2: Tensor) -> Tensor:
    return pffn(x, w1, b1, g1, w2, b2, g2, approximate="tanh")


def without_first_norm(x: Tensor, w1: Tensor, b1: Tensor, g1: Tensor, w2: Tensor, b2: Tensor, g2: Tensor) -> Tensor:
    return pffn(x, w1, b1, g1, w2, b2, g2, first_norm=False)


def without_second_bias(x: Tensor, w1: Tensor, b1: Tensor, g1: Tensor, w2: Tensor, b2: Tensor, g2: Tensor) -> Tensor:
    return pffn(x, w1, b1, g1, w2, b2, g2, second_bias=0)


def targets_see_each_other(
    q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, num_targets: Tensor, alpha: float, L: int
) -> Tensor:
    none = torch.zeros_like(num_targets)
    return module_of("hstu_attention").reference(q, k, v, offsets, none, alpha, L)  # type: ignore[no-any-return]


def divided_by_the_longest_row(
    q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, num_targets: Tensor, alpha: float
) -> Tensor:
    longest = int(offsets.diff().max())
    return module_of("hstu_attention").reference(q, k, v, offsets, num_targets, alpha, longest)  # type: ignore[no-any-return]


def delta(**changes: Any) -> Any:
    """The gated delta reference on inputs changed before the call."""

    def run(
        mixed_qkv: Tensor, a: Tensor, b: Tensor, A_log: Tensor, dt_bias: Tensor, state: Tensor, indices: Tensor
    ) -> Tensor:
        given = {"mixed_qkv": mixed_qkv, "a": a, "b": b, "A_log": A_log, "dt_bias": dt_bias, "indices": indices}
        changed = {key: changes[key](value) if key in changes else value for key, value in given.items()}
        return module_of("gated_delta_packed_decode").reference(state=state, **changed)  # type: ignore[no-any-return]

    return run


def state_not_written(
    mixed_qkv: Tensor, a: Tensor, b: Tensor, A_log: Tensor, dt_bias: Tensor, state: Tensor, indices: Tensor
) -> Tensor:
    return delta()(mixed_qkv, a, b, A_log, dt_bias, state.clone(), indices)  # type: ignore[no-any-return]


def overflowing_softplus(
    mixed_qkv: Tensor, a: Tensor, b: Tensor, A_log: Tensor, dt_bias: Tensor, state: Tensor, indices: Tensor
) -> Tensor:
    """log(1 + exp(x)) in float32 without the second branch: infinite above 88."""
    raw = (a + dt_bias).exp().log1p()
    return delta()(mixed_qkv, raw.expm1().log() - dt_bias, b, A_log, dt_bias, state, indices)  # type: ignore[no-any-return]


def norm_without_eps(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, weight.shape, weight, 1e-30)


def norm_without_weight(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, weight.shape, None, 1e-6)


def layer_norm(x: Tensor, weight: Tensor) -> Tensor:
    return F.layer_norm(x, weight.shape, weight, None, 1e-6)


def residual_not_written(x: Tensor, residual: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(residual + x, weight.shape, weight, 1e-6)


def backward_without_the_mean(grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    scale = (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    return grad * weight * scale, (grad * x * scale).sum(0)


def backward_of_half_the_rows(grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """grad_weight misses the last rows."""
    whole = module_of("rms_norm_backward").reference
    half = (len(x) + 1) // 2
    return whole(grad, x, weight)[0], whole(grad[:half], x[:half], weight)[1]


def unshifted_softmax(x: Tensor) -> Tensor:
    return x.exp() / x.exp().sum(-1, keepdim=True)


def conv_without_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.conv1d(x, weight, padding=1)


def conv_repeating_the_ends(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.conv1d(F.pad(x, (1, 1), mode="replicate"), weight, bias)


MUTANTS = [
    ("map_id", map_id_counting_from_the_last),
    ("map_id", map_id_in_32_bits),
    ("merge_bucketized_dense", merge_with_upper_bounds),
    ("sigrid_hash", hash_with_truncated_division),
    ("bucketize", bucketize_upper),
    ("bucketize", bucketize_with_nan_first),
    ("bucketize_torcharrow", bucketize_without_twins),
    ("batch_event_truncate", keep_the_last_events),
    ("jagged_to_padded_dense", pad_from_the_first_value),
    ("jagged_pooled_embedding", pool_with_pruned_as_row_zero),
    ("dlrm_dot_interaction", lower_triangle),
    ("wukong_optimized_fm", fm_without_the_diagonal),
    ("interformer_pffn", tanh_gelu),
    ("interformer_pffn", without_first_norm),
    ("interformer_pffn", without_second_bias),
    ("hstu_attention", targets_see_each_other),
    ("hstu_attention", divided_by_the_longest_row),
    ("gated_delta_packed_decode", state_not_written),
    ("gated_delta_packed_decode", overflowing_softplus),
    ("gated_delta_packed_decode", delta(b=lambda b: b.bfloat16().float())),
    ("gated_delta_packed_decode", delta(A_log=lambda a_log: a_log - 40)),
    ("gated_delta_packed_decode", delta(dt_bias=torch.zeros_like)),
    ("gated_delta_packed_decode", delta(indices=lambda i: i.clamp(min=0))),
    ("rms_norm", norm_without_eps),
    ("rms_norm", norm_without_weight),
    ("rms_norm", layer_norm),
    ("add_rms_norm", residual_not_written),
    ("rms_norm_backward", backward_without_the_mean),
    ("rms_norm_backward", backward_of_half_the_rows),
    ("softmax", unshifted_softmax),
    ("conv1d", conv_without_bias),
    ("conv1d", conv_repeating_the_ends),
]


@pytest.mark.parametrize(("name", "mutant"), MUTANTS, ids=[f"{n}-{m.__name__}" for n, m in MUTANTS])
def test_an_operator_with_a_fault_fails(name: str, mutant: Any) -> None:
    shape = shrunk(name, 40)
    assert max(_share(name, shape, variant, mutant) for variant in module_of(name).VARIANTS) > 1


def _share(name: str, shape: Shape, variant: str, function: Any) -> float:
    inputs = make(name, shape, variant=variant)
    got: Results = call(name, inputs, shape, function)
    return worst(task_of(name).rule, got, truth(name, inputs, shape))


@pytest.mark.parametrize(("name", "variant"), variants())
def test_the_reference_passes_its_own_rule(name: str, variant: str) -> None:
    assert _share(name, shrunk(name, 40), variant, None) <= 1


def test_gated_delta_stays_accurate_over_a_rollout() -> None:
    name = "gated_delta_packed_decode"
    rollout = task_of(name).rollout
    assert rollout is not None
    assert (rollout.state, rollout.steps, rollout.relative_l2) == ("state", 64, 1e-4)
    shape = {"B": 6, "H": 2, "HV": 4, "K": 16, "V": 12, "S": 8}
    first = make(name, shape)
    static = {key: first[key] for key in ("A_log", "dt_bias")}
    narrow, wide = first["state"], first["state"].double()
    for step in range(rollout.steps):
        inputs = make(name, shape, seed=step + 2) | static
        narrow = call(name, inputs | {"state": narrow}, shape)["state"]
        wide = call(name, upcast(inputs) | {"state": wide}, shape)["state"]
    assert float((narrow - wide).norm() / wide.norm()) < rollout.relative_l2 / 10


def test_reassociated_fm_passes() -> None:
    name = "wukong_optimized_fm"
    for variant in module_of(name).VARIANTS:
        inputs = make(name, shrunk(name, 200), variant=variant)
        x, y = inputs["x"], inputs["y"]
        got = {"out": (x @ x.transpose(1, 2)) @ y}
        assert worst(task_of(name).rule, got, call(name, upcast(inputs), {})) < 0.4
