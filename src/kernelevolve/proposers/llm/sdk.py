"""What the two SDKs have in common: their errors made into ours, and what every stream of an answer must keep to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from typing import TypeVar

from kernelevolve.errors import ToolMissingError
from kernelevolve.proposers.llm.base import UNKNOWN, CallError, RefusedError, Taken
from kernelevolve.proposers.llm.redact import Redactor
from kernelevolve.proposers.llm.retry import asked_wait_s, is_retried

T = TypeVar("T")
MAX_CHARACTERS = 4_000_000
MOST_TOKENS = 100_000_000
_NEVER_SENT = frozenset(("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"))


@dataclass(frozen=True, kw_only=True)
class Access:
    """Where and with what an endpoint is called. `read_s`: longest silence; `call_s`: longest answer."""

    url: str
    url_variable: str
    url_is_set: bool
    key: str
    key_variable: str
    read_s: float
    call_s: float
    clock: Callable[[], float]
    now: Callable[[], datetime]

    def __repr__(self) -> str:
        return f"Access({self.url})"  # without the key

    @property
    def redactor(self) -> Redactor:
        return Redactor((self.key,))

    @property
    def read_from(self) -> str:
        """The names of the variables that decided this call."""
        address = f"{self.url_variable} = {self.url}" if self.url_is_set else f"{self.url_variable} is not set"
        return f"key from {self.key_variable}{'' if self.key else ' (not set)'}, address: {address}"


def check_installed(package: str) -> None:
    """Raises ToolMissingError, with the line that installs it."""
    if find_spec(package) is None:
        raise missing(package, "it is not installed")


def missing(package: str, reason: str) -> ToolMissingError:
    return ToolMissingError(f"the package '{package}' cannot be used ({reason}): pip install 'kernelevolve[llm]'")


@contextmanager
def faults_as_ours(access: Access, *, seen: Callable[[], Taken]) -> Iterator[None]:
    """A border: whatever an SDK, or the network below it, raises becomes a CallError or a RefusedError. Nothing of the
    original is chained to it, because it holds the request and with it the key."""
    try:
        yield
    except (CallError, RefusedError):
        raise
    except Exception as error:  # noqa: BLE001 - raised again as one of ours, without its chain
        raise fault_of(error, access, seen=seen()) from None


def fault_of(error: Exception, access: Access, *, seen: Taken = UNKNOWN) -> CallError | RefusedError:
    """`seen`: what is known of the call's usage when it broke off within the answer."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _status_fault(error, status, access)
    cause = error.__cause__ or error
    text = access.redactor.clean(f"{type(cause).__name__}: {_said(cause)}")
    if type(cause).__name__ in _NEVER_SENT:
        return CallError(f"{access.url} cannot be reached ({text}); {access.read_from}")
    if isinstance(error, json.JSONDecodeError):
        return CallError(f"{access.url} sent something that is not JSON ({text})", taken=seen)
    return CallError(f"the answer of {access.url} broke off ({text})", taken=seen)


def check_is_stream(content_type: str, access: Access) -> None:
    """A web page or another service behind the address sends no events: nothing was generated, and trying again would
    not change it."""
    if "text/event-stream" not in content_type:
        kind = access.redactor.clean(content_type)[:60] or "nothing"
        raise RefusedError(f"{access.url} answered with {kind} instead of a stream of events; {access.read_from}")


def within_limits(stream: Iterable[T], access: Access, *, seen: Callable[[], Taken]) -> Iterator[T]:
    """The stream, for `call_s` at most: a server that sends a word a minute never runs into `read_s`."""
    until = access.clock() + access.call_s
    for item in stream:
        if access.clock() > until:
            raise CallError(f"the answer of {access.url} took longer than {access.call_s:.0f} s", taken=seen())
        yield item


def counted(number: object) -> int | None:
    """A number of tokens as a server reports it, or None for what can be none: it decides what a limit is worth."""
    return number if isinstance(number, int) and 0 <= number <= MOST_TOKENS else None


def joined(pieces: list[str], access: Access) -> str:
    return access.redactor.clean("".join(pieces))


def _status_fault(error: Exception, status: int, access: Access) -> CallError | RefusedError:
    headers = {name.lower(): value for name, value in getattr(error, "response").headers.items()}  # noqa: B009
    text = f"{access.url} answered {status}: {access.redactor.clean(_said(error))}"
    if is_retried(status):
        return CallError(text, wait_s=asked_wait_s(headers, now=access.now))
    return RefusedError(f"{text}; {access.read_from}")


def _said(error: BaseException) -> str:
    text = str(getattr(error, "message", "") or error)
    return " ".join(text.split())[:400]
