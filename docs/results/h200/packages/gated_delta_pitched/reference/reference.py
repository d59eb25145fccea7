"""Gated delta rule: one packed decode step over a pool of states."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

VARIANTS = ("nominal", "padded", "all_padded", "extreme_gates", "slow_decay", "tiny_keys")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: every row is a sequence as long as there are slots besides the first, which servers keep for padding;
    decays between about 0.2 and 0.99. ValueError: HV is no multiple of H."""
    batch, heads, key_heads = sizes["B"], sizes["HV"], sizes["H"]
    if heads % key_heads:
        raise ValueError(f"HV={heads} is not a multiple of H={key_heads}")
    n_keys = key_heads * sizes["K"]
    mixed_qkv = torch.randn(batch, 2 * n_keys + heads * sizes["V"], generator=rng)
    if variant == "tiny_keys":  # the 1e-6 inside the norm matters
        mixed_qkv[:, : 2 * n_keys] *= 1e-3
    a, b = (torch.randn(batch, heads, generator=rng) for _ in range(2))
    a_log = torch.randn(heads, generator=rng) * 0.7
    dt_bias = torch.randn(heads, generator=rng) - 1.0
    if variant == "extreme_gates":  # both branches of the softplus, where exp(x) overflows as well
        a = a * 60
        b = b * 20
        a_log[1::2] -= 8  # there even a large softplus leaves some of the state
    if variant == "slow_decay":
        a = a - 8
    state = torch.randn(sizes["S"], heads, sizes["V"], sizes["K"], generator=rng)
    indices = _indices(batch, sizes["S"], rng, variant)
    return {
        "mixed_qkv": mixed_qkv, "a": a, "b": b, "A_log": a_log, "dt_bias": dt_bias, "state": state, "indices": indices,
    }  # fmt: skip


def reference(
    mixed_qkv: Tensor, a: Tensor, b: Tensor, A_log: Tensor, dt_bias: Tensor, state: Tensor, indices: Tensor
) -> Tensor:
    _, heads, value_width, key_width = state.shape
    n_values = heads * value_width
    n_keys = (mixed_qkv.shape[1] - n_values) // 2
    live = (indices >= 0).nonzero().squeeze(1)
    slots = indices[live].long()
    q, k, v = mixed_qkv[live].to(state.dtype).split([n_keys, n_keys, n_values], dim=1)
    v = v.unflatten(1, (heads, value_width))
    q = _per_value_head(q, heads, key_width) * key_width**-0.5
    k = _per_value_head(k, heads, key_width)
    gate = -A_log.exp() * F.softplus(a[live].to(state.dtype) + dt_bias, threshold=20)
    beta = b[live].to(state.dtype).sigmoid()

    memory = state[slots].mul_(gate.exp()[..., None, None])
    error = (v - torch.matmul(memory, k[..., None]).squeeze(-1)).mul_(beta[..., None])
    memory.addcmul_(error[..., None], k[..., None, :])
    state[slots] = memory
    out = mixed_qkv.new_zeros(indices.numel(), heads, value_width)
    out[live] = torch.matmul(memory, q[..., None]).squeeze(-1).to(out.dtype)
    return out


def _per_value_head(x: Tensor, heads: int, key_width: int) -> Tensor:
    """[n, H*K] to unit vectors [n, HV, K]: each key head serves HV/H value heads in a row."""
    x = x.unflatten(1, (x.shape[1] // key_width, key_width))
    x = x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)
    return x.repeat_interleave(heads // x.shape[1], dim=1)


def _indices(batch: int, n_slots: int, rng: torch.Generator, variant: str) -> Tensor:
    """Different slots in random order; padding rows at random places, and wherever the slots run out."""
    share = {"nominal": 0.0, "padded": 0.6, "all_padded": 1.0}.get(variant, 1 / 6)
    first = 1 if variant == "nominal" and n_slots > 1 else 0
    n_live = min(n_slots - first, batch - int(batch * share))
    indices = torch.full((batch,), -1, dtype=torch.int32)
    slots = torch.randperm(n_slots - first, generator=rng)[:n_live] + first
    indices[torch.randperm(batch, generator=rng)[:n_live]] = slots.int()
    return indices
