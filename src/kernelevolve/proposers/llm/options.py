"""What stands after the colon: `openai:MODEL`, or `openai:MODEL?max_tokens=4000&temperature=0.7`."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qsl

from pydantic import Field, ValidationError

from kernelevolve.errors import UsageError
from kernelevolve.model.value import Value, explain
from kernelevolve.proposers.base import Tools
from kernelevolve.proposers.llm.sdk import Access


class Options(Value):
    kind: str
    model: str = Field(min_length=1)
    max_tokens: int = Field(default=16_000, ge=16, le=1_000_000, description="of an answer")
    temperature: float | None = Field(default=None, ge=0, le=2, description="None: the server's own")
    read_s: float = Field(default=180.0, gt=0, description="longest silence within an answer")
    call_s: float = Field(default=1200.0, gt=0, description="longest time for an answer")

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.model}"


def parse_options(kind: str, argument: str) -> Options:
    """Raises UsageError without a model, and for an option that does not exist or fit."""
    model, _, rest = argument.partition("?")
    if not model.strip():
        raise UsageError(f"proposer '{kind}' needs a model: {kind}:MODEL")
    try:
        pairs = dict(parse_qsl(rest, strict_parsing=True)) if rest else {}
        return Options.model_validate({**pairs, "kind": kind, "model": model.strip()})
    except ValidationError as error:
        raise UsageError(f"proposer '{kind}:{argument}': {explain(error)}") from error
    except ValueError as error:
        raise UsageError(f"proposer '{kind}:{argument}': options are written NAME=VALUE, joined by &") from error


def access_from(options: Options, tools: Tools, *, url: str, key_variable: str, url_variable: str) -> Access:
    """Raises UsageError for a key that cannot be sent."""
    key = tools.environ.get(key_variable, "").strip()
    if not all("!" <= character <= "~" for character in key):
        raise UsageError(f"{key_variable} holds a space, a line end or a character that no key has (not shown)")
    return Access(
        url=url,
        url_variable=url_variable,
        url_is_set=bool(tools.environ.get(url_variable)),
        key=key,
        key_variable=key_variable,
        read_s=options.read_s,
        call_s=options.call_s,
        clock=tools.clock,
        now=lambda: datetime.now(UTC),
    )


def per_minute(tools: Tools, variable: str) -> float | None:
    """A limit from the environment, or None. Raises UsageError for what is no number above zero."""
    text = tools.environ.get(variable, "")
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e12:
        raise UsageError(f"{variable}='{text}' is not a number above zero")
    return number
