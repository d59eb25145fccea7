"""Checks every kernel against the reference on this machine: `python test_gated_delta_packed_decode.py`, or pytest."""

from __future__ import annotations

import math
import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

import gated_delta_packed_decode as exported  # noqa: E402

# Each shape with the kernel that must serve it; nothing: the reference.
PLAN = {'rule': {'kind': 'scaled', 'rtol': 1e-05, 'rms': 1e-05},
 'shapes': [({'B': 1, 'H': 7, 'HV': 4, 'K': 128, 'V': 128, 'S': 13}, 'B1_K128_V128'),
            ({'B': 1, 'H': 8, 'HV': 32, 'K': 128, 'V': 128, 'S': 12}, 'B1_K128_V128'),
            ({'B': 1, 'H': 1, 'HV': 4, 'K': 128, 'V': 128, 'S': 1}, 'B1_K128_V128'),
            ({'B': 1, 'H': 8, 'HV': 32, 'K': 128, 'S': 4, 'V': 128}, 'B1_K128_V128'),
            ({'B': 1, 'H': 4, 'HV': 16, 'K': 128, 'S': 4, 'V': 128}, 'B1_K128_V128'),
            ({'B': 1, 'H': 2, 'HV': 8, 'K': 128, 'S': 4, 'V': 128}, 'B1_K128_V128'),
            ({'B': 1, 'H': 16, 'HV': 64, 'K': 128, 'S': 4, 'V': 128}, 'B1_K128_V128'),
            ({'B': 1, 'H': 12, 'HV': 48, 'K': 128, 'S': 4, 'V': 128}, 'B1_K128_V128'),
            ({'B': 2, 'H': 7, 'HV': 4, 'K': 128, 'V': 128, 'S': 13}, 'B2_to_4_K128_V128'),
            ({'B': 2, 'H': 8, 'HV': 32, 'K': 128, 'V': 128, 'S': 12}, 'B2_to_4_K128_V128'),
            ({'B': 2, 'H': 1, 'HV': 4, 'K': 128, 'V': 128, 'S': 1}, 'B2_to_4_K128_V128'),
            ({'B': 4, 'H': 8, 'HV': 32, 'K': 128, 'S': 7, 'V': 128}, 'B2_to_4_K128_V128'),
            ({'B': 2, 'H': 4, 'HV': 16, 'K': 128, 'S': 5, 'V': 128}, 'B2_to_4_K128_V128'),
            ({'B': 4, 'H': 4, 'HV': 16, 'K': 128, 'S': 7, 'V': 128}, 'B2_to_4_K128_V128'),
            ({'B': 4, 'H': 2, 'HV': 8, 'K': 128, 'S': 7, 'V': 128}, 'B2_to_4_K128_V128'),
            ({'B': 2, 'H': 16, 'HV': 64, 'K': 128, 'S': 5, 'V': 128}, 'B2_to_4_K128_V128'),
            ({'B': 4, 'H': 16, 'HV': 64, 'K': 128, 'S': 7, 'V': 128}, 'B2_to_4_K128_V128'),
            ({'B': 2, 'H': 12, 'HV': 48, 'K': 128, 'S': 5, 'V': 128}, 'B2_to_4_K128_V128'),
            ({'B': 4, 'H': 6, 'HV': 24, 'K': 128, 'S': 7, 'V': 128}, 'B2_to_4_K128_V128'),
            ({'B': 5, 'H': 7, 'HV': 4, 'K': 128, 'V': 128, 'S': 13}, 'B5_to_31_K128_V128'),
            ({'B': 16, 'H': 8, 'HV': 32, 'K': 128, 'V': 128, 'S': 12}, 'B5_to_31_K128_V128'),
            ({'B': 5, 'H': 1, 'HV': 4, 'K': 128, 'V': 128, 'S': 1}, 'B5_to_31_K128_V128'),
            ({'B': 8, 'H': 8, 'HV': 32, 'K': 128, 'S': 11, 'V': 128}, 'B5_to_31_K128_V128'),
            ({'B': 16, 'H': 8, 'HV': 32, 'K': 128, 'S': 19, 'V': 128}, 'B5_to_31_K128_V128'),
            ({'B': 16, 'H': 4, 'HV': 16, 'K': 128, 'S': 19, 'V': 128}, 'B5_to_31_K128_V128'),
            ({'B': 16, 'H': 2, 'HV': 8, 'K': 128, 'S': 19, 'V': 128}, 'B5_to_31_K128_V128'),
            ({'B': 8, 'H': 16, 'HV': 64, 'K': 128, 'S': 11, 'V': 128}, 'B5_to_31_K128_V128'),
            ({'B': 16, 'H': 16, 'HV': 64, 'K': 128, 'S': 19, 'V': 128}, 'B5_to_31_K128_V128'),
            ({'B': 8, 'H': 6, 'HV': 24, 'K': 128, 'S': 11, 'V': 128}, 'B5_to_31_K128_V128'),
            ({'B': 16, 'H': 12, 'HV': 48, 'K': 128, 'S': 19, 'V': 128}, 'B5_to_31_K128_V128'),
            ({'B': 32, 'H': 7, 'HV': 4, 'K': 128, 'V': 128, 'S': 13}, 'B_from_32_K128_V128'),
            ({'B': 32, 'H': 8, 'HV': 32, 'K': 128, 'V': 128, 'S': 12}, 'B_from_32_K128_V128'),
            ({'B': 32, 'H': 1, 'HV': 4, 'K': 128, 'V': 128, 'S': 1}, 'B_from_32_K128_V128'),
            ({'B': 64, 'H': 8, 'HV': 32, 'K': 128, 'S': 67, 'V': 128}, 'B_from_32_K128_V128'),
            ({'B': 64, 'H': 4, 'HV': 16, 'K': 128, 'S': 67, 'V': 128}, 'B_from_32_K128_V128'),
            ({'B': 64, 'H': 2, 'HV': 8, 'K': 128, 'S': 67, 'V': 128}, 'B_from_32_K128_V128'),
            ({'B': 64, 'H': 16, 'HV': 64, 'K': 128, 'S': 67, 'V': 128}, 'B_from_32_K128_V128'),
            ({'B': 128, 'H': 16, 'HV': 64, 'K': 128, 'S': 131, 'V': 128}, 'B_from_32_K128_V128'),
            ({'B': 32, 'H': 16, 'HV': 64, 'K': 128, 'S': 35, 'V': 128}, 'B_from_32_K128_V128'),
            ({'B': 48, 'H': 12, 'HV': 48, 'K': 128, 'S': 51, 'V': 128}, 'B_from_32_K128_V128')],
 'free': []}
DEVICE = exported.SPEC["device"]


def draws(shape):
    """Inputs for every input distribution of the task."""
    module = exported.OPERATOR.reference_module
    for number, variant in enumerate(getattr(module, "VARIANTS", ("nominal",))):
        try:
            inputs = module.make_inputs(dict(shape), torch.Generator().manual_seed(17 + number), variant)
        except ValueError:  # this distribution does not exist for this shape
            continue
        yield variant, {spec["name"]: _ready(spec, inputs[spec["name"]]) for spec in exported.SPEC["inputs"]}


def first_drawn():
    """The first shape that has inputs, who serves it, and inputs; axes can contradict each other."""
    return next((shape, key, inputs) for shape, key in PLAN["shapes"] for _, inputs in draws(shape))


def _ready(spec, value):
    if not isinstance(value, torch.Tensor):
        return value
    if spec["dtype"] in ("float16", "bfloat16") and value.dtype == torch.float32:
        value = value.to(getattr(torch, spec["dtype"]))
    value = value.contiguous().to(DEVICE)
    return value if value.data_ptr() % 64 == 0 else value.clone()


def copied(inputs, *, double=False):
    def one(value):
        if not isinstance(value, torch.Tensor):
            return value
        return value.double() if double and value.is_floating_point() else value.clone()

    return {name: one(value) for name, value in inputs.items()}


def answers(function, inputs, free):
    """Every tensor the operator writes: in-place inputs, then outputs."""
    result = function(inputs, free)
    results = () if result is None else result if isinstance(result, tuple) else (result,)
    return [inputs[spec["name"]] for spec in exported.SPEC["inputs"] if spec["in_place"]] + list(results)


def by_reference(inputs, free):
    return exported.OPERATOR.by_reference(tuple(inputs.values()), tuple(free.values()))


def called(inputs, free):
    return exported.gated_delta_packed_decode(**inputs, **free)


def expected(inputs, free):
    if PLAN["rule"]["kind"] == "bitwise":
        return answers(by_reference, copied(inputs), free)
    module = exported.OPERATOR.reference_module
    kept = module.reference
    module.reference = getattr(module, "oracle", kept)
    try:
        return answers(by_reference, copied(inputs, double=True), free)
    finally:
        module.reference = kept


def assert_right(got, wanted, where):
    assert got.shape == wanted.shape, f"{where}: shape {list(got.shape)}, expected {list(wanted.shape)}"
    rule = PLAN["rule"]
    if rule["kind"] == "bitwise" or not got.is_floating_point():
        same = got.contiguous().view(-1).view(torch.uint8) if got.numel() else got
        other = wanted.to(got.dtype).contiguous().view(-1).view(torch.uint8) if got.numel() else got
        assert torch.equal(same, other), f"{where}: not equal byte for byte"
        return
    raw = wanted.double()
    info = torch.finfo(got.dtype)
    narrow = info.bits == 16  # what writing the answer down costs in 16 bits comes on top of the rule
    largest = info.max / (2 - info.eps) * (2 - info.eps / 2) if narrow else math.inf
    wanted = torch.where(raw.abs() >= largest, raw.sign() * math.inf, raw)
    finite = torch.isfinite(wanted)
    rms = wanted[finite].pow(2).mean().sqrt().item() if finite.any() else 0.0

    def allowance(right):
        own = rule["rtol"] * ((1.0 if rule["kind"] == "allclose" else 0.0) + right.abs()) + rule["rms"] * rms
        return own + info.eps / 2 * right.abs() + info.smallest_normal * info.eps / 2 if narrow else own

    got = got.double()
    same = (got == wanted) | (got.isnan() & wanted.isnan())
    right = torch.where(finite, (got - wanted).abs() <= allowance(wanted), same)
    if narrow:  # where the allowance reaches both, the largest number and infinity are both right
        over = got.isinf() & (got.sign() == raw.sign()) & (raw.abs() + allowance(raw) >= largest)
        right |= over | ((raw.abs() >= largest) & ((got - raw).abs() <= allowance(raw)))
    assert bool(right.all()), f"{where}: {int((~right).sum())} of {right.numel()} elements are wrong"


def needs_device():
    if DEVICE == "cuda" and not torch.cuda.is_available():
        raise unittest.SkipTest("torch sees no CUDA device here, so no kernel can be checked")


def test_every_kernel_equals_the_reference():
    needs_device()
    served = set()
    for shape, key in PLAN["shapes"]:
        free = {name: shape[name] for name in PLAN["free"]}
        for variant, inputs in draws(shape):
            where = f"{shape} {variant}"
            wanted = expected(inputs, free)
            got = answers(called, copied(inputs), free)
            assert exported.last_served() == (key or "reference"), f"{where}: {exported.last_path()}"
            served.add(key)
            for one, other in zip(got, wanted, strict=True):
                assert_right(one, other, f"{key or 'reference'}, {where}")
    missing = {kernel["key"] for kernel in exported.SPEC["kernels"]} - served
    assert not missing, f"no test shape is served by {sorted(missing)}"


def apart(inputs):
    """The same inputs with gaps between the rows of every tensor that may have them, and what the gaps hold."""
    made, buffers = dict(inputs), {}
    for spec in exported.SPEC["inputs"]:
        if "pitch" not in spec:
            continue
        value, (_, low, high, step) = inputs[spec["name"]], spec["pitch"]
        row = value.shape[1:].numel()
        pitch = -(-max(row + 1, low) // step) * step
        if pitch > high:
            continue
        buffer = torch.full((value.shape[0], pitch), -1, dtype=value.dtype, device=DEVICE)
        if value.is_floating_point():
            buffer.fill_(float("nan"))
        strides = (pitch, *torch.empty(value.shape[1:], device="meta").stride())
        made[spec["name"]] = buffer.as_strided(value.shape, strides).copy_(value)
        buffers[spec["name"]] = (buffer[:, row:], buffer[:, row:].clone())
    return made, buffers


def test_rows_that_lie_apart_are_served_and_what_is_between_stays():
    needs_device()
    for shape, key in PLAN["shapes"]:
        free = {name: shape[name] for name in PLAN["free"]}
        for variant, inputs in draws(shape) if key else ():
            where = f"rows apart, {shape} {variant}"
            wanted = expected(inputs, free)
            given, buffers = apart(inputs)
            got = answers(called, given, free)
            assert exported.last_served() == key, f"{where}: {exported.last_path()}"
            for one, other in zip(got, wanted, strict=True):
                assert_right(one, other, f"{key}, {where}")
            for name, (gap, before) in buffers.items():
                same = [value.contiguous().view(-1).view(torch.uint8) for value in (gap, before) if gap.numel()]
                assert not same or torch.equal(*same), f"{where}: what lies between the rows of {name} was written"
            break  # gaps show with any content


def test_the_operator_that_torch_knows_is_right_too():
    needs_device()
    shape, key, inputs = first_drawn()
    free = {name: shape[name] for name in PLAN["free"]}
    got = answers(lambda values, axes: exported.OPERATOR.traced(*values.values(), **axes), copied(inputs), free)
    assert exported.last_served() == (key or "reference")
    for one, other in zip(got, expected(inputs, free), strict=True):
        assert_right(one, other, f"as an operator of torch, {shape}")


def test_what_no_kernel_takes_goes_to_the_reference():
    needs_device()
    shape, _, inputs = first_drawn()
    free = {name: shape[name] for name in PLAN["free"]}
    name = next(spec["name"] for spec in exported.SPEC["inputs"] if not spec["scalar"])
    misaligned = torch.empty(inputs[name].numel() + 1, dtype=inputs[name].dtype, device=DEVICE)[1:]
    misaligned = misaligned.view(inputs[name].shape)
    misaligned.copy_(inputs[name])
    given = {**copied(inputs), name: misaligned}
    got = answers(called, given, free)
    served, _, why = exported.last_path().partition(": ")
    assert served in ("reference", exported.SPEC["fallback"]) and why, exported.last_path()
    wanted = answers(by_reference, copied(inputs), free) if served == "reference" else expected(inputs, free)
    for one, other in zip(got, wanted, strict=True):
        assert_right(one, other, "fallback")


if __name__ == "__main__":
    try:
        test_every_kernel_equals_the_reference()
        test_rows_that_lie_apart_are_served_and_what_is_between_stays()
        test_the_operator_that_torch_knows_is_right_too()
        test_what_no_kernel_takes_goes_to_the_reference()
    except unittest.SkipTest as skipped:
        print(f"not checked: {skipped}")
    else:
        print("right: the kernel equals the reference, and the fallback works")
