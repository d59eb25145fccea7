"""The input generators: what they promise, for every variant."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from kernelevolve.model.task import FLOAT_DTYPES, evaluate_dim
from kernelevolve.tasks import load_task
from tests.tasks.builtin_case import (  # noqa: F401  one_thread is a fixture
    NAMES,
    Inputs,
    call,
    make,
    module_of,
    one_thread,
    shrunk,
    small_shapes,
    task_of,
    variants,
)

EXPECTED = {
    "map_id": "v table | out | B L M",
    "merge_bucketized_dense": "x borders border_offsets | out | F N S",
    "sigrid_hash": "ids salt max_value | out | N",
    "bucketize": "values borders | out | N M",
    "bucketize_torcharrow": "values borders | out | N M",
    "batch_event_truncate": "outer inner values limit | outer_out inner_out values_out | U F EV E T EO TO",
    "jagged_to_padded_dense": "values offsets padding | out | B L D T",
    "jagged_pooled_embedding": "tables indices offsets | out | B G R D P I",
    "dlrm_dot_interaction": "dense sparse | out | B F D",
    "wukong_optimized_fm": "x y | out | B N D K",
    "interformer_pffn": "x w1 b1 g1 w2 b2 g2 | out | B N D K",
    "hstu_attention": "q k v offsets num_targets alpha | out | B H D L T",
    "gated_delta_packed_decode": "mixed_qkv a b A_log dt_bias state indices | out | B H HV K V S SP QP AP BP",
    "rms_norm": "x weight | out | R C",
    "add_rms_norm": "x residual weight | out | R C",
    "rms_norm_backward": "grad x weight | grad_x grad_weight | R C",
    "softmax": "x | out | R C",
    "conv1d": "x weight bias | out | B CI CO L",
}


def test_the_order_of_arguments_is_the_one_kernels_are_written_for() -> None:
    found = {}
    for name in NAMES:
        task = task_of(name)
        groups = (task.inputs, task.outputs, task.axes)
        found[name] = " | ".join(" ".join(item.name for item in group) for group in groups)
        assert task.entry == task.family == name
    assert found == EXPECTED


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_shape_sets_are_disjoint(name: str, platform: str) -> None:
    shapes = load_task(name, platform=platform).shapes
    everything = [tuple(sorted(shape.items())) for shape in (*shapes.shown, *shapes.search, *shapes.sealed)]
    assert len(everything) == len(set(everything))
    if platform == "cpu":
        assert len(shapes.shown) >= 2
        assert len(shapes.search) >= 2
        assert len(shapes.sealed) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_hidden_shapes_have_awkward_sizes(name: str) -> None:
    for shapes in (task_of(name).shapes.search, task_of(name).shapes.sealed):
        assert any(size % 8 for shape in shapes for size in shape.values())


@pytest.mark.parametrize(("name", "variant"), variants())
def test_same_seed_same_inputs(name: str, variant: str) -> None:
    shape = shrunk(name, 12)
    assert alike(make(name, shape, variant=variant), make(name, shape, variant=variant))
    assert not alike(make(name, shape, variant=variant), make(name, shape, variant=variant, seed=2))


def alike(one: Inputs, other: Inputs) -> bool:
    def key(value: Any) -> Any:
        return value.contiguous().view(torch.uint8).tolist() if isinstance(value, torch.Tensor) else value

    return [key(value) for value in one.values()] == [key(value) for value in other.values()]


@pytest.mark.parametrize(("name", "variant"), variants())
def test_inputs_and_outputs_are_as_declared(name: str, variant: str) -> None:
    task = task_of(name)
    for seed, shape in enumerate([*small_shapes(name), shrunk(name, 20)]):
        inputs = make(name, shape, seed=seed, variant=variant)
        assert list(inputs) == [spec.name for spec in task.inputs]
        results, sizes = call(name, inputs, shape), dict(shape)
        arrays = [(spec, inputs[spec.name]) for spec in task.inputs if spec.dims]
        for spec, array in [*arrays, *((spec, results[spec.name]) for spec in task.outputs)]:
            assert str(array.dtype) == f"torch.{spec.dtype}"
            assert array.is_contiguous()
            for dim, size in zip(spec.dims, array.shape, strict=True):
                if dim.isidentifier():
                    sizes.setdefault(dim, size)
                assert evaluate_dim(dim, sizes) == size, (spec.name, dim)
        for spec in task.inputs:
            if not spec.dims:
                assert type(inputs[spec.name]) is (float if spec.dtype in FLOAT_DTYPES else int)
        assert set(sizes) == {axis.name for axis in task.axes if axis.role != "pitch"}


@pytest.mark.parametrize(("name", "variant"), variants())
def test_inputs_keep_the_promises_of_their_descriptions(name: str, variant: str) -> None:
    for seed, shape in itertools.product(range(3), [*small_shapes(name), shrunk(name, 20)]):
        inputs = make(name, shape, seed=seed, variant=variant)
        for promise in PROMISES.get(name, ()):
            assert promise(inputs, shape), (promise.__name__, shape)


def ascending(values: torch.Tensor) -> bool:
    return bool((values[1:] >= values[:-1]).all())


def sorted_table(i: Inputs, _: dict[str, int]) -> bool:
    return ascending(i["table"])


def sorted_borders(i: Inputs, _: dict[str, int]) -> bool:
    return ascending(i["borders"]) and not bool(i["borders"].isnan().any())


def at_most_twins(i: Inputs, _: dict[str, int]) -> bool:
    return not bool((i["borders"][2:] == i["borders"][:-2]).any())


def borders_per_feature(i: Inputs, _: dict[str, int]) -> bool:
    offsets = i["border_offsets"].tolist()
    pieces = [i["borders"][start:stop] for start, stop in itertools.pairwise(offsets)]
    inside = offsets[0] == 0 and offsets[-1] == i["borders"].numel()
    return inside and all(piece.numel() <= 16 and ascending(piece) for piece in pieces)


def positive_max(i: Inputs, _: dict[str, int]) -> bool:
    return 1 <= i["max_value"] < 2**63 and -(2**63) <= i["salt"] < 2**63


def lengths_add_up(i: Inputs, _: dict[str, int]) -> bool:
    lengths = min(i["outer"].min() if i["outer"].numel() else 0, i["inner"].min() if i["inner"].numel() else 0)
    sums = i["outer"].sum() == i["inner"].shape[1] and i["inner"].sum() == i["values"].numel()
    return bool(sums) and lengths >= 0 and i["limit"] >= 0


def offsets_inside_values(i: Inputs, _: dict[str, int]) -> bool:
    return ascending(i["offsets"]) and i["offsets"][0] >= 0 and i["offsets"][-1] <= i["values"].shape[0]


def bags_fit(i: Inputs, shape: dict[str, int]) -> bool:
    inside = ascending(i["offsets"]) and i["offsets"][0] == 0 and i["offsets"][-1] == i["indices"].numel()
    return bool(inside) and bool(((i["indices"] >= -1) & (i["indices"] < shape["R"])).all())


def sequences_fit(i: Inputs, shape: dict[str, int]) -> bool:
    lengths = i["offsets"].diff()
    inside = i["offsets"][0] == 0 and i["offsets"][-1] == i["q"].shape[0]
    targets = (i["num_targets"] >= 0) & (i["num_targets"] <= lengths)
    return bool(inside) and bool(((lengths >= 0) & (lengths <= shape["L"]) & targets).all())


def different_slots(i: Inputs, shape: dict[str, int]) -> bool:
    live = i["indices"][i["indices"] >= 0]
    return live.unique().numel() == live.numel() and bool((i["indices"] >= -1).all() and (live < shape["S"]).all())


PROMISES = {
    "map_id": (sorted_table,),
    "merge_bucketized_dense": (borders_per_feature,),
    "sigrid_hash": (positive_max,),
    "bucketize": (sorted_borders,),
    "bucketize_torcharrow": (sorted_borders, at_most_twins),
    "batch_event_truncate": (lengths_add_up,),
    "jagged_to_padded_dense": (offsets_inside_values,),
    "jagged_pooled_embedding": (bags_fit,),
    "hstu_attention": (sequences_fit,),
    "gated_delta_packed_decode": (different_slots,),
}


@pytest.mark.parametrize("name", NAMES)
def test_weights_gates_and_biases_are_never_trivial(name: str) -> None:
    inputs = make(name, shrunk(name, 40))
    for spec in task_of(name).inputs:
        if spec.dims and spec.dtype in FLOAT_DTYPES and inputs[spec.name].numel() > 8:
            values = inputs[spec.name]
            assert float(values.std()) > 0.05, spec.name
            assert not bool(((values == 0) | (values == 1)).any(dim=-1).all()), spec.name


@pytest.mark.parametrize(
    ("name", "variant", "input_name", "wanted"),
    [
        ("merge_bucketized_dense", "nan_inf", "x", ["nan", "inf", "-inf"]),
        ("bucketize", "nan_inf", "values", ["nan", "inf", "-inf"]),
        ("bucketize_torcharrow", "nan_inf", "values", ["nan", "inf", "-inf"]),
        ("jagged_to_padded_dense", "non_finite", "values", ["nan", "inf", "-inf", "-0.0"]),
        ("sigrid_hash", "extreme_ids", "ids", [str(-(2**63)), str(2**63 - 1), "-1", "0"]),
        ("map_id", "extremes", "v", [str(-(2**63)), str(2**63 - 1), "-1", "0"]),
        ("map_id", "extremes", "table", [str(-(2**63)), str(2**63 - 1)]),
        ("jagged_pooled_embedding", "nominal", "indices", ["-1"]),
        ("gated_delta_packed_decode", "extreme_gates", "indices", ["-1"]),
    ],
)
def test_variants_hold_the_values_they_are_for(name: str, variant: str, input_name: str, wanted: list[str]) -> None:
    values = {str(value) for value in make(name, shrunk(name, 60), variant=variant)[input_name].flatten().tolist()}
    assert values >= set(wanted)


def test_map_id_variants_cover_hits_misses_and_duplicates() -> None:
    shape = shrunk("map_id", 60)
    for variant in module_of("map_id").VARIANTS:
        inputs = make("map_id", shape, variant=variant)
        hits = float((call("map_id", inputs, shape)["out"] > 0).double().mean())
        assert hits == 0 if variant == "absent" else 0.3 < hits < 1
    table = make("map_id", shape, variant="duplicates")["table"]
    assert table.unique().numel() < table.numel()


def test_sigrid_hash_variants_cover_the_divisors() -> None:
    drawn = {v: [make("sigrid_hash", {"N": 1}, seed=s, variant=v)["max_value"] for s in range(60)] for v in
             module_of("sigrid_hash").VARIANTS}  # fmt: skip
    assert set(drawn["max_one"]) == {1}
    assert set(drawn["max_huge"]) == {2**31, 2**31 + 11, 2**62 + 1, 2**63 - 1}
    assert all(value & (value - 1) == 0 for value in drawn["max_power"])
    assert all(10**6 <= value <= 4 * 10**7 for value in drawn["nominal"])


def test_jagged_variants_cover_truncation_emptiness_and_shifted_offsets() -> None:
    shape = shrunk("jagged_to_padded_dense", 30)
    inputs = {v: make("jagged_to_padded_dense", shape, variant=v) for v in
              module_of("jagged_to_padded_dense").VARIANTS}  # fmt: skip
    assert int(inputs["all_empty"]["offsets"].diff().sum()) == 0
    assert bool((inputs["all_cut"]["offsets"].diff() > shape["L"]).all())
    assert int(inputs["inner_range"]["offsets"][0]) > 0
    assert int(inputs["inner_range"]["offsets"][-1]) < inputs["inner_range"]["values"].shape[0]
    lengths = inputs["nominal"]["offsets"].diff()
    assert bool((lengths > shape["L"]).any())
    assert bool((lengths < shape["L"]).any())


def test_truncation_limits_cover_nothing_something_and_everything() -> None:
    shape = shrunk("batch_event_truncate", 40)
    inputs = {v: make("batch_event_truncate", shape, variant=v) for v in module_of("batch_event_truncate").VARIANTS}
    assert inputs["limit_zero"]["limit"] == 0
    assert inputs["keep_all"]["limit"] > int(inputs["keep_all"]["outer"].max())
    assert shape["EV"] / 2 <= inputs["nominal"]["limit"] <= shape["EV"]
    assert inputs["no_events"]["values"].numel() == inputs["no_ids"]["values"].numel() == 0
    assert int(inputs["one_user_has_all"]["outer"].count_nonzero()) == 1


def test_extreme_gates_reach_both_branches_of_the_softplus() -> None:
    inputs = make(
        "gated_delta_packed_decode", {"B": 8, "H": 4, "HV": 16, "K": 2, "V": 2, "S": 9}, variant="extreme_gates"
    )
    x = inputs["a"] + inputs["dt_bias"]
    assert bool((x > 89).any())
    assert bool((x < -89).any())
    assert bool(((x > 89) & (inputs["A_log"].exp() * x < 1)).any())
