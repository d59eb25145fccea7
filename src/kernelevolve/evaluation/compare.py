"""Is an answer right? The comparison has a direction: the oracle decides what is allowed, never the candidate."""

from __future__ import annotations

import numpy as np
import torch

from kernelevolve.evaluation.arena import POISON, Bytes
from kernelevolve.evaluation.tensors import tensor_bytes
from kernelevolve.model.task import FLOAT_DTYPES, Rule, Shape, TensorSpec
from kernelevolve.model.verdict import Mismatch


class Answer:
    """What one output must hold, prepared once so that comparing costs two passes over the bytes."""

    def __init__(self, spec: TensorSpec, oracle: torch.Tensor, rule: Rule) -> None:
        self.spec = spec
        self.shape = oracle.shape
        self.exact = rule.kind == "bitwise" or spec.dtype not in FLOAT_DTYPES
        if self.exact:
            self.wanted = oracle.to(getattr(torch, spec.dtype)).contiguous()
            return
        self.oracle = oracle.double()
        finite = torch.isfinite(self.oracle)
        self.all_finite = bool(finite.all())
        rms = float(self.oracle[finite].pow(2).mean().sqrt()) if bool(finite.any()) else 0.0
        self.allowed = rule.rtol * self.oracle.abs() + rule.rms * (rms if np.isfinite(rms) else 0.0)
        # Rounding these to float32 moves them by 6e-8 of the value: who is that close is judged by the slow way.
        self.low = (self.oracle - self.allowed).float()
        self.high = (self.oracle + self.allowed).float()

    def judge(self, got: Bytes, shape: Shape) -> Mismatch | None:
        """None when right. Right means: every element shown to be within its allowance; NaN and unknown are wrong."""
        if self.exact:
            return None if same_bytes(got, tensor_bytes(self.wanted)) else _exact(self, got, shape)
        answer = as_tensor(got, self.spec.dtype, self.shape)
        narrow = answer if answer.dtype == torch.float32 else answer.float()
        if self.all_finite and bool(((narrow >= self.low) & (narrow <= self.high)).all()) and self._float32_is_enough():
            return None
        return _scaled(self, answer.double(), shape)

    def _float32_is_enough(self) -> bool:
        return self.spec.dtype != "float64"


def compare(spec: TensorSpec, got: Bytes, expected: torch.Tensor, rule: Rule, shape: Shape) -> Mismatch | None:
    """One comparison; who compares with the same answer again keeps the `Answer`."""
    return Answer(spec, expected, rule).judge(got, shape)


def same_bytes(one: Bytes, other: Bytes) -> bool:
    if one.size != other.size:
        return False
    words = one.size // 8 * 8
    return bool(
        (one[:words].view(np.uint64) == other[:words].view(np.uint64)).all() and (one[words:] == other[words:]).all()
    )


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


def _scaled(answer: Answer, got: torch.Tensor, shape: Shape) -> Mismatch | None:
    oracle, allowed = answer.oracle, answer.allowed
    error = (got - oracle).abs()
    right = torch.where(torch.isfinite(oracle), error <= allowed, _same_kind(got, oracle))
    if bool(right.all()):
        return None
    ratio = torch.where(torch.isfinite(error), error / allowed.clamp_min(1e-300), torch.full_like(error, 1e9))
    worst = float(torch.where(right, torch.zeros_like(ratio), ratio).max())
    return _mismatch(answer.spec, shape, right, got, oracle, worst_error=min(worst, 1e9))


def _exact(answer: Answer, got: Bytes, shape: Shape) -> Mismatch:
    wanted = answer.wanted
    size = wanted.element_size()
    rows = (got.reshape(-1, size) == tensor_bytes(wanted).reshape(-1, size)).all(axis=1)
    right = torch.from_numpy(rows).reshape(wanted.shape)
    return _mismatch(
        answer.spec, shape, right, as_tensor(got, answer.spec.dtype, wanted.shape), wanted, worst_error=None
    )


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
