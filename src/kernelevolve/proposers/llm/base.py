"""What every endpoint has in common: a request in, a reply out, and a fault that says what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import Field

from kernelevolve.errors import MachineError, ProposerError, RecordError
from kernelevolve.model.value import Value, canonical_json, sha256_text


class Message(Value):
    role: Literal["user", "assistant"]
    text: str


class Request(Value):
    """One turn of a conversation with a model. `max_tokens` limits the answer."""

    model: str
    system: str
    messages: tuple[Message, ...]
    max_tokens: int = Field(ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2)

    @property
    def most_tokens_in(self) -> int:
        """No tokenizer in use makes more than one token of a byte; what a chat template adds comes on top."""
        texts = [self.system, *(message.text for message in self.messages)]
        return sum(len(text.encode()) for text in texts) + 64 * len(texts)

    def identity(self, *, endpoint: str, ask: int, seed: int) -> str:
        """sha256 of what is sent, where to, and for which question: a question that is asked again after a crash has
        the same identity, a second question with the same words has another."""
        return sha256_text(canonical_json([endpoint, ask, seed, self.model_dump(mode="json")]))


class Reply(Value):
    """A model's answer. `stop` length: it was cut off at `max_tokens`. Tokens None: the provider did not say."""

    text: str
    stop: Literal["end", "length", "refused"] = "end"
    tokens_in: int | None = None
    tokens_out: int | None = None


class Endpoint(Protocol):
    """An API. One file each. `send` is called from several threads at once."""

    kind: str
    url: str

    def send(self, request: Request) -> Reply:
        """One call, never repeated here. Raises CallError or RefusedError."""
        ...


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What a call that failed may have been billed for; `known` False: count the most it could have been."""

    known: bool
    tokens_in: int = 0
    tokens_out: int = 0


NOTHING = Taken(known=True)
UNKNOWN = Taken(known=False)


class CallError(MachineError):
    """A call that failed and may be made again: the network, a busy or a broken server."""

    def __init__(self, message: str, *, taken: Taken = NOTHING, wait_s: float | None = None) -> None:
        self.taken = taken
        self.wait_s = wait_s  # what the server asked for
        super().__init__(message)


class RefusedError(ProposerError):
    """A call that will fail however often it is made: a wrong key, a wrong address, an unknown model."""


class AnswerError(RecordError):
    """The model answered, and no candidate can be read out of it."""


class TruncatedError(AnswerError):
    """The answer was cut off at the limit of its length. Never read: half a kernel may well compile."""


class PatchError(AnswerError):
    """Edits that do not fit their file. `kind` model: the answer's fault; patcher: ours, the answer was right."""

    def __init__(self, message: str, *, kind: Literal["model", "patcher"] = "model", path: str = "") -> None:
        self.kind = kind
        self.path = path
        super().__init__(message)
