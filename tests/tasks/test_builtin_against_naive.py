"""Every reference against plain Python, on small and edge shapes, for all input distributions."""

from __future__ import annotations

from functools import wraps
from typing import Any

import pytest
import torch

from tests.tasks import builtin_naive
from tests.tasks.builtin_case import (  # noqa: F401  one_thread is a fixture
    NAMES,
    call,
    make,
    one_thread,
    small_shapes,
    task_of,
    upcast,
    variants,
    worst,
)


@pytest.mark.parametrize(("name", "variant"), variants())
def test_reference_equals_plain_python(name: str, variant: str) -> None:
    task = task_of(name)
    exact = task.rule.kind == "bitwise"
    for seed, shape in enumerate(small_shapes(name)):
        inputs = make(name, shape, seed=seed, variant=variant)
        given = inputs if exact else upcast(inputs)
        got, expected = call(name, given, shape), call(name, given, shape, _as_tensors(name, given))
        for spec in task.written:
            right = expected[spec.name].to(got[spec.name].dtype).view(got[spec.name].shape)
            if exact:
                torch.testing.assert_close(got[spec.name], right, rtol=0, atol=0, equal_nan=True)
            else:
                torch.testing.assert_close(got[spec.name], right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in NAMES if task_of(name).rule.kind == "scaled"])
def test_reference_in_float32_keeps_the_declared_dtypes(name: str) -> None:
    for seed, shape in enumerate(small_shapes(name)):
        inputs = make(name, shape, seed=seed)
        got = call(name, inputs, shape)
        assert {spec.name: f"torch.{spec.dtype}" for spec in task_of(name).written} == {
            key: str(value.dtype) for key, value in got.items()
        }
        assert worst(task_of(name).rule, got, call(name, upcast(inputs), shape)) <= 1


def test_gated_delta_refuses_value_heads_that_do_not_fit_the_key_heads() -> None:
    with pytest.raises(ValueError, match="HV=4 is not a multiple of H=3"):
        make("gated_delta_packed_decode", {"B": 1, "H": 3, "HV": 4, "K": 2, "V": 2, "S": 1})


def _as_tensors(name: str, given: dict[str, Any]) -> Any:
    """The plain function with tensors for results; it takes the same arguments as before."""
    plain = getattr(builtin_naive, name)
    floating = next((v.dtype for v in given.values() if isinstance(v, torch.Tensor) and v.is_floating_point()), None)
    dtypes = [torch.int64 if spec.dtype.startswith("int") else floating for spec in task_of(name).outputs]

    @wraps(plain)
    def run(**arguments: Any) -> tuple[torch.Tensor, ...]:
        results = plain(**arguments)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(torch.tensor(result, dtype=dtype) for result, dtype in zip(results, dtypes, strict=True))

    return run
