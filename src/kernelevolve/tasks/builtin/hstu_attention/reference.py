"""HSTU attention: pad the jagged sequences, attend in dense batches, take the valid rows back."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

VARIANTS = ("nominal", "empty_rows", "full_rows", "short_rows", "no_targets", "all_targets", "large_scores")


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor | float]:
    """nominal: lengths from L/2 to L, up to 20 targets, scores of size about 1."""
    batch, longest = sizes["B"], sizes["L"]
    lengths = _lengths(batch, longest, rng, variant)
    limit = 0 if variant == "no_targets" else longest if variant == "all_targets" else 20
    targets = lengths.clamp(max=limit)
    if variant != "all_targets":
        targets = (torch.rand(batch, generator=rng) * (targets + 1)).long()
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    q, k, v = (torch.randn(int(offsets[-1]), sizes["H"], sizes["D"], generator=rng) for _ in range(3))
    alpha = (8.0 if variant == "large_scores" else 1.0) / sizes["D"] ** 0.5
    return {"q": q, "k": k, "v": v, "offsets": offsets, "num_targets": targets, "alpha": alpha}


def reference(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, num_targets: Tensor, alpha: float, L: int) -> Tensor:
    n_positions = q.shape[0]
    lengths = offsets.diff()
    batch = lengths.numel()
    row = torch.repeat_interleave(torch.arange(batch, device=q.device), lengths, output_size=n_positions)
    place = row * L + torch.arange(n_positions, device=q.device) - offsets[row]
    dense_q, dense_k, dense_v = (_pad(x, place, batch, L) for x in (q, k, v))
    scores = torch.matmul(dense_q, dense_k.transpose(2, 3)).mul_(alpha)
    weights = F.silu(scores, inplace=True).mul_(_visible(lengths - num_targets, L)[:, None]).div_(L)
    dense = torch.matmul(weights, dense_v).transpose(1, 2)
    return dense.reshape(batch * L, *q.shape[1:]).index_select(0, place)


def _pad(x: Tensor, place: Tensor, batch: int, longest: int) -> Tensor:
    """[T,H,D] to [B,H,L,D], zeros beyond a sequence's end."""
    dense = x.new_zeros(batch * longest, *x.shape[1:]).index_copy_(0, place, x)
    return dense.view(batch, longest, *x.shape[1:]).transpose(1, 2)


def _visible(history: Tensor, longest: int) -> Tensor:
    """[B,L,L]: a key is seen by itself and by every query of a later rank; all targets share one rank."""
    position = torch.arange(longest, device=history.device)
    rank = torch.minimum(position, history[:, None])
    earlier = rank[:, None, :] < rank[:, :, None]
    return earlier | torch.eye(longest, dtype=torch.bool, device=history.device)


def _lengths(batch: int, longest: int, rng: torch.Generator, variant: str) -> Tensor:
    lengths = torch.randint((longest + 1) // 2, longest + 1, (batch,), generator=rng)
    if variant == "full_rows":
        lengths.fill_(longest)
    if variant == "short_rows":
        lengths = torch.randint(1, min(4, longest) + 1, (batch,), generator=rng)
    if variant == "empty_rows":
        lengths *= torch.rand(batch, generator=rng) < 0.5
        lengths[:1] = 0
        lengths[-1:] = 0
    return lengths
