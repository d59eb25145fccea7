"""Is an answer right? The comparison has a direction: the oracle decides what is allowed, never the candidate."""

from __future__ import annotations

import numpy as np
import torch

from kernelevolve.evaluation.arena import POISON, Bytes
from kernelevolve.evaluation.draws import tensor_bytes
from kernelevolve.model.task import FLOAT_DTYPES, Rule, Shape, TensorSpec
from kernelevolve.model.verdict import Mismatch


def compare(spec: TensorSpec, got: Bytes, expected: torch.Tensor, rule: Rule, shape: Shape) -> Mismatch | None:
    """None when right. Right means: every element shown to be within its allowance; NaN and unknown are wrong."""
    if rule.kind == "bitwise" or spec.dtype not in FLOAT_DTYPES:
        return _exact(spec, got, expected, shape)
    answer = as_tensor(got, spec.dtype, expected.shape).double()
    oracle = expected.double()
    rms = float(oracle[torch.isfinite(oracle)].pow(2).mean().sqrt()) if oracle.numel() else 0.0
    rms = rms if np.isfinite(rms) else 0.0
    allowed = rule.rtol * oracle.abs() + rule.rms * rms
    error = (answer - oracle).abs()
    right = torch.where(torch.isfinite(oracle), error <= allowed, _same_kind(answer, oracle))
    if bool(right.all()):
        return None
    ratio = torch.where(torch.isfinite(error), error / allowed.clamp_min(1e-300), torch.full_like(error, 1e9))
    worst = float(torch.where(right, torch.zeros_like(ratio), ratio).max())
    return _mismatch(spec, shape, right, answer, oracle, worst_error=min(worst, 1e9))


def unwritten(got: Bytes) -> bool:
    """Whether the poison is still there, everywhere."""
    return got.size > 0 and bool((got == POISON).all())


def as_tensor(data: Bytes, dtype: str, shape: torch.Size | tuple[int, ...]) -> torch.Tensor:
    """A copy of raw bytes as a tensor."""
    flat = torch.from_numpy(data.copy()) if data.size else torch.empty(0, dtype=torch.uint8)
    return flat.view(getattr(torch, dtype)).reshape(tuple(shape))


def relative_l2(spec: TensorSpec, got: Bytes, expected: torch.Tensor) -> float:
    """Norm of the difference over norm of the oracle; infinite when anything is not finite."""
    answer = as_tensor(got, spec.dtype, expected.shape).double()
    oracle = expected.double()
    value = float((answer - oracle).norm() / oracle.norm().clamp_min(1e-300))
    return value if np.isfinite(value) else float("inf")


def _exact(spec: TensorSpec, got: Bytes, expected: torch.Tensor, shape: Shape) -> Mismatch | None:
    wanted = expected.to(getattr(torch, spec.dtype)).contiguous()
    if np.array_equal(got, tensor_bytes(wanted)):
        return None
    answer = as_tensor(got, spec.dtype, wanted.shape)
    size = wanted.element_size()
    rows = (got.reshape(-1, size) == tensor_bytes(wanted).reshape(-1, size)).all(axis=1)
    right = torch.from_numpy(rows).reshape(wanted.shape)
    return _mismatch(spec, shape, right, answer, wanted, worst_error=None)


def _same_kind(answer: torch.Tensor, oracle: torch.Tensor) -> torch.Tensor:
    """For elements whose right value is NaN or infinite: the same NaN-ness or the same infinity."""
    return (torch.isnan(answer) & torch.isnan(oracle)) | (answer == oracle)


def _mismatch(
    spec: TensorSpec,
    shape: Shape,
    right: torch.Tensor,
    answer: torch.Tensor,
    wanted: torch.Tensor,
    *,
    worst_error: float | None,
) -> Mismatch:
    first = tuple(int(i) for i in (~right).nonzero()[0]) if right.dim() else ()
    return Mismatch(
        tensor=spec.name, shape=shape, n_wrong=int((~right).sum()), n_total=right.numel(), first_index=first,
        got=f"{answer[first].item():.9g}", expected=f"{wanted[first].item():.9g}", worst_error=worst_error,
    )  # fmt: skip
