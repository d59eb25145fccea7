"""What a token costs, as data. A price that is not known is None and never zero."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import Field, ValidationError

from kernelevolve.errors import UsageError
from kernelevolve.model.value import Value, explain

VARIABLE = "KERNELEVOLVE_PRICES"
_SHIPPED = Path(__file__).with_name("prices.toml")
_SNAPSHOT = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")
Dollars = tuple[float, float]


class _Group(Value):
    host: str
    as_of: str = Field(pattern=r"^\d{4}-\d{2}(-\d{2})?$")
    models: dict[str, Dollars]


class _File(Value):
    price: tuple[_Group, ...]


@dataclass(frozen=True, kw_only=True)
class Price:
    """US dollars per million tokens, and the month in which that was so."""

    usd_in: float
    usd_out: float
    as_of: str

    def of(self, *, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.usd_in + tokens_out * self.usd_out) / 1e6


def price_of(model: str, *, host: str, environ: Mapping[str, str]) -> Price | None:
    """Exact names only, or the dated snapshot of one: "gpt-5-pro" is not "gpt-5", and a name has a price only at the
    host that asks it. Raises UsageError when the user's own file cannot be read."""
    own = environ.get(VARIABLE, "")
    groups = (*(_read(Path(own)) if own else ()), *_shipped())
    for name in dict.fromkeys((model, _SNAPSHOT.sub("", model))):
        for group in groups:
            if group.host in ("*", host) and name in group.models:
                usd_in, usd_out = group.models[name]
                return Price(usd_in=usd_in, usd_out=usd_out, as_of=group.as_of)
    return None


@cache
def _shipped() -> tuple[_Group, ...]:
    return _read(_SHIPPED)


def _read(path: Path) -> tuple[_Group, ...]:
    try:
        groups = _File.model_validate(tomllib.loads(path.read_text())).price
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read the prices in {path} (from {VARIABLE}): {error}") from error
    except ValidationError as error:
        raise UsageError(f"the prices in {path} (from {VARIABLE}): {explain(error)}") from error
    for group in groups:
        if any(number < 0 for pair in group.models.values() for number in pair):
            raise UsageError(f"the prices in {path} (from {VARIABLE}): a price is below zero")
    return groups
