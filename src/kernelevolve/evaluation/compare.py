"""Is an answer right? The comparison has a direction: the oracle decides what is allowed, never the candidate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from kernelevolve.evaluation.arena import Bytes
from kernelevolve.evaluation.tensors import as_tensor, elements, same_bytes, tensor_bytes
from kernelevolve.model.task import FLOAT_DTYPES, Rule, Shape, TensorSpec
from kernelevolve.model.verdict import Mismatch

HONEST_FACTOR = {"float64": 64.0, "float32": 64.0, "float16": 4.0, "bfloat16": 4.0}
"""How many times the honest error is allowed, as root mean square over a tensor. A kernel that adds in another order,
or takes an exponential good to 20 bits, stays well below; one that works in a 16-bit format is hundreds of times
above where float32 was asked for."""
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
SMALLEST_STEP = {"float16": 2.0**-24, "bfloat16": 2.0**-133}
LARGEST = {"float16": 65520.0}
"""What writing an exact answer down costs in a 16-bit format comes on top of what the rule allows: relative to it, and
half a step where numbers get no smaller. From `LARGEST` on the right answer is infinite; within the allowance of it,
the largest number and infinity are both right."""
MAX_SAMPLED = 2**16


class Answer:
    """What one output must hold, prepared once so that comparing costs two passes over the bytes.

    `honest`: what the reference gives in the task's own dtype. `again`: computes the oracle when it is needed; without
    it the oracle is kept, which takes 16 bytes an element more.
    """

    def __init__(
        self,
        spec: TensorSpec,
        oracle: torch.Tensor,
        rule: Rule,
        *,
        honest: torch.Tensor | None = None,
        again: Callable[[], torch.Tensor] | None = None,
    ) -> None:
        self.spec = spec
        self.shape = oracle.shape
        self.exact = rule.kind == "bitwise" or spec.dtype not in FLOAT_DTYPES
        self.rms_allowed = float("inf")
        if self.exact:
            self.wanted = oracle.to(getattr(torch, spec.dtype)).contiguous()
            return
        raw = oracle.double()
        oracle = _in_range(raw, spec.dtype)
        self._rule = rule
        self.scale = _rms(oracle)
        # One pass says both: where a sum of squares is finite every element is. Few answers are not, or are too large.
        self.all_finite = bool(np.isfinite(self.scale)) or bool(torch.isfinite(oracle).all())
        finite = ... if self.all_finite else torch.isfinite(oracle)
        if not self.all_finite:
            self.scale = _rms(oracle[finite])
        if honest is not None:
            typical = max(_rms((honest.double() - oracle)[finite]), EPSILON[spec.dtype] * self.scale)
            self.rms_allowed = HONEST_FACTOR[spec.dtype] * typical if np.isfinite(typical) else float("inf")
        allowed = self.allowed(oracle)
        # Rounding these to float32 moves them by 6e-8 of the value: who is that close is judged by the slow way.
        self.low, self.high = (torch.empty_like(oracle, dtype=torch.float32) for _ in range(2))
        torch.sub(oracle, allowed, out=self.low)
        torch.add(oracle, allowed, out=self.high)
        self._oracle = raw if again is None else None
        self._again = again

    @property
    def held_bytes(self) -> int:
        return int(self.wanted.nbytes if self.exact else self.low.nbytes + self.high.nbytes)

    def judge(self, got: Bytes, shape: Shape, *, honest_error: bool = True) -> Mismatch | None:
        """None when right. Right means: every element shown to be within its allowance; NaN and unknown are wrong.
        Gaps between rows are not looked at."""
        if self.exact:
            got = elements(got, self.spec.dtype, self.shape)
            return None if same_bytes(got, tensor_bytes(self.wanted)) else _exact(self, got, shape)
        answer = as_tensor(got, self.spec.dtype, self.shape)
        narrow = answer if answer.dtype == torch.float32 else answer.float()
        quick = self.all_finite and self.spec.dtype != "float64"
        within = quick and bool(((narrow >= self.low) & (narrow <= self.high)).all())
        if within and (not honest_error or self._sampled_error(narrow) <= 0.8 * self.rms_allowed):
            return None
        return _scaled(self, answer.double(), self.oracle(), shape, honest_error=honest_error)

    def quick(self, got: Bytes, *, honest_error: bool = True) -> torch.Tensor:
        """0-dim bool, not waited for: right for certain. False means that `judge` must say. For device tensors."""
        if self.exact:
            got = elements(got, self.spec.dtype, self.shape)
            return (got == torch.as_tensor(tensor_bytes(self.wanted))).all()
        if not self.all_finite or self.spec.dtype == "float64":
            return torch.zeros((), dtype=torch.bool, device=self.low.device)
        answer = as_tensor(got, self.spec.dtype, self.shape)
        narrow = answer if answer.dtype == torch.float32 else answer.float()
        right = ((narrow >= self.low) & (narrow <= self.high)).all()
        if honest_error and np.isfinite(self.rms_allowed) and narrow.numel():
            right = right & (self._sampled(narrow) <= 0.8 * self.rms_allowed)
        return right

    def oracle(self) -> torch.Tensor:
        """Float64, also where the format has no number so large."""
        if self._oracle is not None:
            return self._oracle
        assert self._again is not None
        return self._again().double()

    def at_the_edge(self, got: torch.Tensor, raw: torch.Tensor) -> torch.Tensor:
        """Where `got` is infinite or the largest number of its format and the allowance reaches both."""
        largest = LARGEST.get(self.spec.dtype)
        if largest is None:
            return torch.zeros_like(raw, dtype=torch.bool)
        allowed = self.allowed(raw)
        overflown = torch.isinf(got) & (got.sign() == raw.sign()) & (raw.abs() + allowed >= largest)
        return overflown | ((raw.abs() >= largest) & ((got - raw).abs() <= allowed))

    def allowed(self, oracle: torch.Tensor) -> torch.Tensor:
        if self._rule.kind == "allclose":
            return oracle.abs().add_(1.0).mul_(self._rule.rtol)
        rtol = self._rule.rtol + ROUNDOFF.get(self.spec.dtype, 0.0)
        step = 0.5 * SMALLEST_STEP.get(self.spec.dtype, 0.0)
        typical = self.scale if np.isfinite(self.scale) else 0.0
        return oracle.abs().mul_(rtol).add_(step + self._rule.rms * typical)

    def _sampled_error(self, narrow: torch.Tensor) -> float:
        """Root mean square over some of the elements, against the middle of the allowance."""
        if not np.isfinite(self.rms_allowed) or not narrow.numel():
            return 0.0
        return float(self._sampled(narrow))

    def _sampled(self, narrow: torch.Tensor) -> torch.Tensor:
        step = max(1, narrow.numel() // MAX_SAMPLED)
        middle = (self.low.reshape(-1)[::step] + self.high.reshape(-1)[::step]) * 0.5
        return (narrow.reshape(-1)[::step] - middle).double().pow(2).mean().sqrt()


def _in_range(oracle: torch.Tensor, dtype: str) -> torch.Tensor:
    """Infinite where the format has no number so large."""
    if dtype not in LARGEST:
        return oracle
    return torch.where(
        oracle.abs() >= LARGEST[dtype], torch.copysign(torch.full_like(oracle, torch.inf), oracle), oracle
    )


def _rms(values: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(values)) / values.numel() ** 0.5 if values.numel() else 0.0


def compare(spec: TensorSpec, got: Bytes, expected: torch.Tensor, rule: Rule, shape: Shape) -> Mismatch | None:
    """One comparison; who compares with the same answer again keeps the `Answer`."""
    return Answer(spec, expected, rule).judge(got, shape)


def relative_l2(spec: TensorSpec, got: Bytes, expected: torch.Tensor) -> float:
    """Norm of the difference over norm of the oracle; infinite when anything is not finite."""
    answer = as_tensor(got, spec.dtype, expected.shape).double()
    oracle = expected.double()
    value = float((answer - oracle).norm() / oracle.norm().clamp_min(1e-300))
    return value if np.isfinite(value) else float("inf")


def _scaled(
    answer: Answer,
    got: torch.Tensor,
    raw: torch.Tensor,
    shape: Shape,
    *,
    honest_error: bool,
) -> Mismatch | None:
    oracle = _in_range(raw, answer.spec.dtype)
    allowed = answer.allowed(oracle)
    edge = answer.at_the_edge(got, raw)
    error = torch.where(edge, torch.zeros_like(raw), (got - oracle).abs())
    finite = torch.isfinite(oracle)
    right = torch.where(finite, error <= allowed, _same_kind(got, oracle)) | edge
    if bool(right.all()):
        rms = _rms(error[finite])
        if not honest_error or rms <= answer.rms_allowed:
            return None
        # Every element is within the rule, but together they are worse than an honest kernel's by far: name the worst.
        right = torch.where(finite, error < error[finite].max(), torch.ones_like(right))
        ratio = rms / answer.rms_allowed
        return _mismatch(answer.spec, shape, right, got, oracle, worst_error=ratio)
    ratio = torch.where(torch.isfinite(error), error / allowed.clamp_min(1e-300), torch.full_like(error, 1e9))
    worst = float(torch.where(right, torch.zeros_like(ratio), ratio).max())
    return _mismatch(answer.spec, shape, right, got, oracle, worst_error=min(worst, 1e9))


def _exact(answer: Answer, got: Bytes, shape: Shape) -> Mismatch:
    wanted = answer.wanted
    size = wanted.element_size()
    rows = torch.as_tensor(got).reshape(-1, size) == torch.as_tensor(tensor_bytes(wanted)).reshape(-1, size)
    right = rows.all(1).reshape(wanted.shape)
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
    first = tuple(int(i) for i in (~right).nonzero()[0].tolist()) if right.dim() else ()
    return Mismatch(
        tensor=spec.name, shape=shape, n_wrong=int((~right).sum()), n_total=right.numel(), first_index=first,
        got=f"{answer[first].item():.9g}", expected=f"{wanted[first].item():.9g}", worst_error=worst_error,
    )  # fmt: skip
