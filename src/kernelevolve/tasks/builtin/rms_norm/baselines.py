"""Other people's kernels for the same, called where they are installed."""

from __future__ import annotations

from torch import Tensor

EPSILON = 1e-6


def liger(x: Tensor, weight: Tensor) -> Tensor:
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    return LigerRMSNormFunction.apply(x, weight, EPSILON)


def flag_gems(x: Tensor, weight: Tensor) -> Tensor:
    from flag_gems import rms_norm

    return rms_norm(x, [x.shape[-1]], weight, EPSILON)


def flashinfer(x: Tensor, weight: Tensor) -> Tensor:
    from flashinfer import rmsnorm

    return rmsnorm(x, weight, EPSILON)


ARMS = {"liger": liger, "flag_gems": flag_gems, "flashinfer": flashinfer}
