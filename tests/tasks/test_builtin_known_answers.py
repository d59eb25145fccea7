"""Answers known beforehand, written out as numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.tasks.builtin_case import (  # noqa: F401  one_thread is a fixture
    call,
    module_of,
    one_thread,
)

NAN, INF = float("nan"), float("inf")
LOWEST, HIGHEST = -(2**63), 2**63 - 1


def reference(name: str) -> Any:
    return module_of(name).reference


@pytest.mark.parametrize(
    ("ids", "table", "expected"),
    [
        ([100, 300, 500, 200, 999], [100, 200, 300, 400, 500], [1, 3, 5, 2, 0]),
        ([7, 7, -3, 8, 6], [-3, 7, 7, 7], [2, 2, 1, 0, 0]),
        ([LOWEST, HIGHEST, 0], [LOWEST, 0, HIGHEST], [1, 3, 2]),
        ([LOWEST, HIGHEST], [0], [0, 0]),
        ([0, 1], [], [0, 0]),
    ],
)
def test_map_id(ids: list[int], table: list[int], expected: list[int]) -> None:
    assert reference("map_id")(torch.tensor([ids]), torch.tensor(table, dtype=torch.int64)).tolist() == [expected]


def test_merge_bucketized_dense() -> None:
    x = torch.tensor([[0.1, 0.4, 0.8], [0.2, 0.5, 0.9]])
    out = reference("merge_bucketized_dense")(x, torch.tensor([0.3, 0.6, 0.4, 0.7]), torch.tensor([0, 2, 4]))
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_merge_bucketized_dense_with_a_feature_without_borders() -> None:
    x = torch.tensor([[1.0, NAN, 2.0], [5.0, NAN, -INF], [INF, NAN, 3.0]])
    out = reference("merge_bucketized_dense")(x, torch.tensor([1.0, 3.0]), torch.tensor([0, 1, 1, 2]))
    assert out.tolist() == [[0, 1, 1], [2, 2, 2], [4, 4, 3]]


@pytest.mark.parametrize(
    ("ids", "salt", "max_value", "expected"),
    [
        (list(range(1, 17)), 0, 100, [60, 54, 54, 9, 4, 91, 11, 67, 79, 2, 25, 92, 98, 83, 66, 2]),
        ([0, -1, HIGHEST, LOWEST], 0, 100, [6, 75, 67, 41]),
        ([0, -1, HIGHEST, LOWEST], 12345, 1, [0, 0, 0, 0]),
    ],
)
def test_sigrid_hash(ids: list[int], salt: int, max_value: int, expected: list[int]) -> None:
    assert reference("sigrid_hash")(torch.tensor(ids), salt, max_value).tolist() == expected


def test_bucketize() -> None:
    values = torch.tensor([-INF, 0.0, 1.0, 1.5, 2.0, 2.5, INF, NAN])
    out = reference("bucketize")(values, torch.tensor([1.0, 2.0, 2.0]))
    assert out.tolist() == [0, 0, 0, 1, 1, 3, 3, 3]
    assert reference("bucketize")(values, torch.empty(0)).tolist() == [0] * 8


@pytest.mark.parametrize(
    ("values", "borders", "expected"),
    [
        ([1, 2, 3, 4, 5, 6], [0, 2, 3, 5, 500, 1000], [1, 1, 2, 3, 3, 4]),
        ([0, 1, 1.5, 2, 2.5, 3, 4], [1, 2, 2, 3, 3], [0, 0, 1, 2, 3, 4, 5]),
        ([NAN, INF, -INF], [1, 10, 100], [1, 3, 0]),
        ([NAN, 4, 5, 6], [5], [0, 0, 0, 1]),
        ([NAN, 4], [], [0, 0]),
    ],
)
def test_bucketize_torcharrow(values: list[float], borders: list[float], expected: list[int]) -> None:
    given = torch.tensor(values, dtype=torch.float32), torch.tensor(borders, dtype=torch.float32)
    assert reference("bucketize_torcharrow")(*given).tolist() == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (2, ([2, 2, 1], [[1, 0, 0, 3, 1]], [1, 4, 5, 6, 9])),
        (0, ([0, 0, 0], [[]], [])),
        (99, ([3, 4, 1], [[1, 0, 2, 0, 3, 1, 1, 1]], list(range(1, 10)))),
    ],
)
def test_batch_event_truncate(limit: int, expected: tuple[Any, ...]) -> None:
    inner = torch.tensor([[1, 0, 2, 0, 3, 1, 1, 1]])
    results = reference("batch_event_truncate")(torch.tensor([3, 4, 1]), inner, torch.arange(1, 10), limit)
    assert tuple(result.tolist() for result in results) == expected


def test_batch_event_truncate_lays_values_out_feature_by_feature() -> None:
    inner = torch.tensor([[1, 1, 2], [0, 2, 1]])
    results = reference("batch_event_truncate")(torch.tensor([2, 1]), inner, torch.arange(10, 17), 1)
    assert [result.tolist() for result in results] == [[1, 1], [[1, 2], [0, 1]], [10, 12, 13, 16]]


def test_jagged_to_padded_dense() -> None:
    values = torch.arange(7.0)[:, None].repeat(1, 2)
    out = reference("jagged_to_padded_dense")(values, torch.tensor([1, 1, 4, 5]), -1.5, 2)
    assert out[:, :, 0].tolist() == [[-1.5, -1.5], [1.0, 2.0], [4.0, -1.5]]
    assert torch.equal(out[:, :, 0], out[:, :, 1])


def test_jagged_to_padded_dense_without_values_is_all_padding() -> None:
    out = reference("jagged_to_padded_dense")(torch.empty(0, 3), torch.tensor([0, 0, 0]), 2.0, 4)
    assert out.shape == (2, 4, 3)
    assert bool((out == 2.0).all())


def test_jagged_pooled_embedding() -> None:
    tables = torch.tensor([[[1.0, 10.0], [2.0, 20.0]], [[3.0, 30.0], [4.0, 40.0]]])
    # Bags: table 0: [0,1,1] and []; table 1: [-1,1] and [0].
    out = reference("jagged_pooled_embedding")(tables, torch.tensor([0, 1, 1, -1, 1, 0]), torch.tensor([0, 3, 3, 5, 6]))
    assert out.tolist() == [[5.0, 50.0, 4.0, 40.0], [0.0, 0.0, 3.0, 30.0]]


def test_dlrm_dot_interaction() -> None:
    dense, sparse = torch.tensor([[1.0, 2.0]]), torch.tensor([[[3.0, 4.0], [5.0, 6.0]]])
    assert reference("dlrm_dot_interaction")(dense, sparse).tolist() == [[1.0, 2.0, 11.0, 17.0, 39.0]]
    assert reference("dlrm_dot_interaction")(dense, sparse[:, :0]).tolist() == [[1.0, 2.0]]


def test_wukong_optimized_fm() -> None:
    x, y = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), torch.tensor([[[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]]])
    assert reference("wukong_optimized_fm")(x, y).tolist() == [[[5.0, 11.0, 43.0], [11.0, 25.0, 97.0]]]


def test_interformer_pffn() -> None:
    # Hidden: x @ w1 + b1 = [1, -1], GELU [0.841345, -0.158655], size 0.605406, times g1: [1.389721, -0.786191].
    # Output: h @ w2 + b2 = [1.389721, 0.213809], size 0.994244, times g2.
    inputs = (
        [[[1.0]]],
        [[[2.0, 1.0]]],
        [[[-1.0, -2.0]]],
        [1.0, 3.0],
        [[[1.0, 0.0], [0.0, 1.0]]],
        [[[0.0, 1.0]]],
        [1, 2],
    )
    out = reference("interformer_pffn")(*(torch.tensor(value, dtype=torch.float64) for value in inputs))
    assert out.flatten().tolist() == pytest.approx([1.397767, 0.430093], abs=1e-6)


def test_hstu_attention() -> None:
    # silu(1) = 0.731059, silu(2) = 1.761594; L = 4; the second sequence's two targets do not see each other.
    ones, v = torch.ones(5, 1, 1), torch.tensor([1.0, 10.0, 1.0, 10.0, 100.0]).view(5, 1, 1)
    out = reference("hstu_attention")(2 * ones, ones, v, torch.tensor([0, 2, 5]), torch.tensor([0, 2]), 0.5, 4)
    once = 0.731059 / 4
    assert out.flatten().tolist() == pytest.approx([once, 11 * once, once, 11 * once, 101 * once], rel=1e-5)
    out = reference("hstu_attention")(2 * ones, ones, v, torch.tensor([0, 2, 5]), torch.tensor([0, 0]), 1.0, 4)
    twice = 1.761594 / 4
    assert out.flatten().tolist() == pytest.approx([twice, 11 * twice, twice, 11 * twice, 111 * twice], rel=1e-5)


def test_gated_delta_packed_decode() -> None:
    # One head, K=2, V=1. q = (3,4), k = (0,2), v = 7; decay exp(-2*ln 2) = 1/4, beta 1/2. State (8,12) decays to (2,3);
    # u = (7-3)/2 = 2; the new state is (2,5); out = (0.6*2 + 0.8*5) / sqrt 2. The norms' 1e-6 is below the tolerance.
    inputs = {
        "mixed_qkv": torch.tensor([[3.0, 4.0, 0.0, 2.0, 7.0], [1.0, 1.0, 1.0, 1.0, 1.0]]),
        "a": torch.zeros(2, 1),
        "b": torch.zeros(2, 1),
        "A_log": torch.tensor([math.log(2)]),
        "dt_bias": torch.zeros(1),
        "state": torch.tensor([5.0, 5.0, 8.0, 12.0]).view(2, 1, 1, 2),
        "indices": torch.tensor([1, -1], dtype=torch.int32),
    }
    results = call("gated_delta_packed_decode", inputs, {})
    assert results["out"].flatten().tolist() == pytest.approx([5.2 / math.sqrt(2), 0.0], rel=1e-5)
    assert results["state"].flatten().tolist() == pytest.approx([5.0, 5.0, 2.0, 5.0], rel=1e-5)
    assert torch.equal(results["state"][0], inputs["state"][0])


def test_gated_delta_two_steps_feed_the_state_on() -> None:
    # As above; the second step's memory decays to (0.5, 1.25), u = (7 - 1.25)/2 = 2.875, state (0.5, 4.125).
    row, gate = torch.tensor([[3.0, 4.0, 0.0, 2.0, 7.0]]), torch.zeros(1, 1)
    state, decay = torch.tensor([8.0, 12.0]).view(1, 1, 1, 2), torch.tensor([math.log(2)])
    for _ in range(2):
        reference("gated_delta_packed_decode")(
            row, gate, gate, decay, torch.zeros(1), state, torch.zeros(1, dtype=torch.int32)
        )
    assert state.flatten().tolist() == pytest.approx([0.5, 4.125], rel=1e-5)


def test_rms_norm() -> None:
    out = reference("rms_norm")(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.tensor([1.0, 2.0]))
    assert out.flatten().tolist() == pytest.approx([0.848528, 2.262742, 0.0, 0.0], abs=1e-6)


def test_rms_norm_counts_only_the_columns_there_are() -> None:
    out = reference("rms_norm")(torch.arange(17.0)[None], torch.ones(17))
    assert float(out[0, 16]) == pytest.approx(16 / math.sqrt(1496 / 17), rel=1e-6)


def test_add_rms_norm() -> None:
    inputs = {
        "x": torch.tensor([[1.0, 1.0]]),
        "residual": torch.tensor([[2.0, 3.0]]),
        "weight": torch.tensor([1.0, 2.0]),
    }
    results = call("add_rms_norm", inputs, {})
    assert results["residual"].tolist() == [[3.0, 4.0]]
    assert results["out"].flatten().tolist() == pytest.approx([0.848528, 2.262742], abs=1e-6)


def test_rms_norm_backward() -> None:
    # Both rows have the size 5 / sqrt 2, n = (3, 4) / size. w * grad is (1, 0) and (0, 2); n times the mean of its
    # product with n is (0.36, 0.48) and (0.96, 1.28).
    grad, x = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[3.0, 4.0], [3.0, 4.0]])
    grad_x, grad_weight = reference("rms_norm_backward")(grad, x, torch.tensor([1.0, 2.0]))
    size = 5 / math.sqrt(2)
    assert grad_x.flatten().tolist() == pytest.approx([0.64 / size, -0.48 / size, -0.96 / size, 0.72 / size], rel=1e-5)
    assert grad_weight.tolist() == pytest.approx([3 / size, 4 / size], rel=1e-5)


def test_rms_norm_backward_is_the_gradient_of_the_norm() -> None:
    x, weight = torch.randn(3, 5, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    x.requires_grad_()
    weight.requires_grad_()
    grad = torch.randn(3, 5, dtype=torch.float64)
    reference("rms_norm")(x, weight).backward(grad)
    got = reference("rms_norm_backward")(grad, x.detach(), weight.detach())
    torch.testing.assert_close(got, (x.grad, weight.grad))


def test_softmax() -> None:
    out = reference("softmax")(torch.tensor([[0.0, math.log(2), math.log(3)], [900.0, 900.0, -900.0]]))
    assert out.flatten().tolist() == pytest.approx([1 / 6, 1 / 3, 1 / 2, 0.5, 0.5, 0.0], rel=1e-6)


def test_conv1d() -> None:
    weight = torch.tensor([[[1.0, 10.0, 100.0]], [[0.0, 1.0, 0.0]]])
    out = reference("conv1d")(torch.tensor([[[1.0, 2.0, 3.0]]]), weight, torch.tensor([0.5, -1.0]))
    assert out.tolist() == [[[210.5, 321.5, 32.5], [0.0, 1.0, 2.0]]]
