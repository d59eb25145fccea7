"""Feature hashing: twang_mix64, then hash_128_to_64 with the salt, then floor-modulo."""

from __future__ import annotations

import torch
from torch import Tensor

VARIANTS = ("nominal", "extreme_ids", "max_one", "max_power", "max_huge", "max_small")
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_MULTIPLIER = 0x9DDFEA08EB382D69 - 2**64  # the constant's bits as a signed number


def make_inputs(sizes: dict[str, int], rng: torch.Generator, variant: str) -> dict[str, Tensor | int]:
    """nominal: ids of any sign and size, a table of 1e6 to 4e7 rows."""
    ids = torch.randint(_LOWEST, _HIGHEST, (sizes["N"],), generator=rng)
    width = torch.randint(0, 63, (sizes["N"],), generator=rng)
    ids = ids >> width  # as many small ids as large ones
    if variant == "extreme_ids":
        ends = torch.tensor([_LOWEST, _LOWEST + 1, -(2**32), -2, -1, 0, 1, 2**31, 2**32, _HIGHEST - 1, _HIGHEST])
        ids = ends[torch.randint(0, ends.numel(), (sizes["N"],), generator=rng)]
    return {"ids": ids, "salt": _integer(_LOWEST, _HIGHEST, rng), "max_value": _max_value(rng, variant)}


def reference(ids: Tensor, salt: int, max_value: int) -> Tensor:
    mixed = _twang_mix64(ids)
    first = _fold(mixed ^ salt)
    second = _fold(first ^ salt)
    return second.mul_(_MULTIPLIER).remainder_(max_value)


def _fold(bits: Tensor) -> Tensor:
    product = bits.mul_(_MULTIPLIER)
    return product.bitwise_xor_(_shift_right(product, 47))


def _twang_mix64(key: Tensor) -> Tensor:
    key = (~key).add_(key << 21)
    key = key.bitwise_xor_(_shift_right(key, 24))
    key = (key + (key << 3)).add_(key << 8)
    key = key.bitwise_xor_(_shift_right(key, 14))
    key = (key + (key << 2)).add_(key << 4)
    key = key.bitwise_xor_(_shift_right(key, 28))
    return key.add_(key << 31)


def _shift_right(bits: Tensor, n: int) -> Tensor:
    """A logical shift: the arithmetic one, with the copies of the sign bit cleared."""
    return (bits >> n).bitwise_and_((1 << (64 - n)) - 1)


def _max_value(rng: torch.Generator, variant: str) -> int:
    if variant == "max_one":
        return 1
    if variant == "max_power":
        return 1 << _integer(1, 62, rng)
    if variant == "max_huge":
        choices = (2**31, 2**31 + 11, 2**62 + 1, _HIGHEST)
        return choices[_integer(0, len(choices), rng)]
    if variant == "max_small":
        return _integer(2, 100, rng)
    return _integer(1_000_000, 40_000_000, rng)


def _integer(low: int, high: int, rng: torch.Generator) -> int:
    return int(torch.randint(low, high, (), generator=rng))
