"""What every noun has in common: frozen, JSON round trip, and a content hash as its identity."""

from __future__ import annotations

import hashlib
import json
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from kernelevolve.errors import RecordError


class Value(BaseModel):
    """A frozen, keyword-only value. Two values with the same content have the same `content_id`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces, so that equal values give equal text."""
        return canonical_json(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote. Raises `RecordError` when the text is not such a value."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise RecordError(f"not a valid {cls.__name__}: {explain(error)}") from error

    @property
    def content_id(self) -> str:
        """64 hex digits over everything the value holds."""
        return sha256_text(self.to_json())


def canonical_json(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def faults(error: ValidationError) -> list[str]:
    """One line per fault, `where: what`."""
    lines = []
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"]) or "value"
        lines.append(f"{where}: {item['msg'].removeprefix('Value error, ')}")
    return lines


def explain(error: ValidationError) -> str:
    return "; ".join(faults(error))
