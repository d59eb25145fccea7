"""Truncate every user's event list in all features of a two-level jagged batch."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = (
    "nominal", "skewed", "limit_zero", "limit_one", "keep_all", "no_events", "no_ids", "idle_users", "one_user_has_all",
)  # fmt: skip


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor | int]:
    """nominal: 0 to 2*EV events a user, 0 to 3 ids an event, a limit between EV/2 and EV."""
    n_users, n_features, mean_events = sizes["U"], sizes["F"], sizes["EV"]
    outer = _outer(n_users, mean_events, rng, variant)
    n_events = int(outer.sum())
    inner = torch.randint(0, 4, (n_features, n_events), generator=rng)
    if variant == "skewed":  # few long events, most of them short
        inner = (torch.rand(n_features, n_events, generator=rng) ** 8 * 24).long()
    if variant == "no_ids":
        inner.zero_()
    values = torch.randint(-(2**63), 2**63 - 1, (int(inner.sum()),), generator=rng)
    return {"outer": outer, "inner": inner, "values": values, "limit": _limit(mean_events, rng, variant)}


def reference(outer: Tensor, inner: Tensor, values: Tensor, limit: int) -> tuple[Tensor, Tensor, Tensor]:
    n_events = inner.shape[1]
    first_event = torch.repeat_interleave(outer.cumsum(0) - outer, outer, output_size=n_events)
    kept_event = torch.arange(n_events, device=outer.device) - first_event < limit
    kept_id = torch.repeat_interleave(kept_event.expand(inner.shape).reshape(-1), inner.reshape(-1))
    return outer.clamp(max=limit), inner[:, kept_event], values[kept_id]


def output_sizes(outer: Tensor, inner: Tensor, values: Tensor, limit: int) -> dict[str, int]:
    """Sizes of the output axes, for callers that allocate before they know the answer."""
    first_event = torch.repeat_interleave(outer.cumsum(0) - outer, outer, output_size=inner.shape[1])
    kept_event = torch.arange(inner.shape[1], device=outer.device) - first_event < limit
    return {"EO": int(kept_event.sum()), "TO": int((inner.sum(0) * kept_event).sum())}


def _outer(n_users: int, mean_events: int, rng: torch.Generator, variant: str) -> Tensor:
    outer = torch.randint(0, 2 * mean_events + 1, (n_users,), generator=rng)
    if variant == "skewed":
        outer = (torch.rand(n_users, generator=rng) ** 4 * 5 * mean_events).long()
    if variant == "no_events":
        outer.zero_()
    if variant == "idle_users":
        outer *= torch.rand(n_users, generator=rng) < 0.4
        outer[:1] = 0
        outer[-1:] = 0
    if variant == "one_user_has_all":
        outer.zero_()
        outer[n_users // 2 : n_users // 2 + 1] = n_users * mean_events
    return outer


def _limit(mean_events: int, rng: torch.Generator, variant: str) -> int:
    fixed = {"limit_zero": 0, "limit_one": 1, "keep_all": 5 * mean_events + 1}
    drawn = int(torch.randint((mean_events + 1) // 2, mean_events + 1, (), generator=rng))
    return fixed.get(variant, drawn)
