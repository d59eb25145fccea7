"""Id to 1-based table position, 0 when absent."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "hot", "absent", "duplicates", "strided", "contiguous", "extremes")
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor]:
    """nominal: three ids in four are in the table, all entries equally likely."""
    n_ids = sizes["B"] * sizes["L"]
    table = _table(sizes["M"], rng, variant)
    ids = _ids(n_ids, table, rng, variant)
    return {"v": ids.view(sizes["B"], sizes["L"]), "table": table}


def reference(v: Tensor, table: Tensor) -> Tensor:
    if table.numel() == 0:
        return torch.zeros_like(v)
    position = torch.bucketize(v, table)
    found = table.index_select(0, position.clamp(max=table.numel() - 1).view(-1)).view_as(v) == v
    return (position + 1).mul_(found)


def _table(n_entries: int, rng: torch.Generator, variant: str) -> Tensor:
    if variant == "strided":  # ids that agree in all their low bits
        return (torch.arange(n_entries) - n_entries // 2) << 32
    if variant == "contiguous":
        return torch.arange(n_entries) - n_entries // 3
    low, high = 0, 2**40
    if variant == "duplicates":
        high = max(1, n_entries // 3)
    if variant == "extremes":
        low, high = _LOWEST, _HIGHEST
    table = torch.randint(low, high, (n_entries,), generator=rng)
    if variant == "absent":
        table &= -2  # only even ids: the odd ones are all absent
    if variant == "extremes" and n_entries > 1:
        table[0], table[-1] = _LOWEST, _HIGHEST
    return table.sort().values


def _ids(n_ids: int, table: Tensor, rng: torch.Generator, variant: str) -> Tensor:
    n_entries = table.numel()
    other = torch.randint(0, 2**40, (n_ids,), generator=rng)
    share = torch.rand(n_ids, generator=rng)
    if n_entries == 0:
        return other - 2**39
    spread = torch.rand(n_ids, generator=rng, dtype=torch.float64)
    if variant == "hot":  # the larger the power, the fewer ids take most of the calls
        spread = spread**6
    known = table[(spread * n_entries).long().clamp_(max=n_entries - 1)]
    if variant == "absent":
        return torch.where(share < 0.5, known + 1, other | 1)
    if variant == "extremes":  # entries, their neighbours (wrapping round the ends) and the ends themselves
        known = known + torch.randint(-1, 2, (n_ids,), generator=rng)
        ends = torch.tensor([_LOWEST, _LOWEST + 1, -1, 0, 1, _HIGHEST - 1, _HIGHEST])
        other = ends[torch.randint(0, ends.numel(), (n_ids,), generator=rng)]
    if variant in ("duplicates", "contiguous"):  # just outside the table on either side
        other = torch.randint(-n_entries, 2 * n_entries, (n_ids,), generator=rng)
    return torch.where(share < 0.75, known, other)
