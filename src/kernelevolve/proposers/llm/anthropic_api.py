"""Anthropic's messages API."""

from __future__ import annotations

import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any

from kernelevolve.errors import UsageError
from kernelevolve.proposers.base import Tools
from kernelevolve.proposers.llm.address import anthropic_url, host_of
from kernelevolve.proposers.llm.base import CallError, Reply, Request, Taken
from kernelevolve.proposers.llm.options import Options, access_from, parse_options
from kernelevolve.proposers.llm.proposer import LlmProposer, make_llm
from kernelevolve.proposers.llm.sdk import (
    MAX_CHARACTERS,
    Access,
    check_installed,
    check_is_stream,
    counted,
    faults_as_ours,
    joined,
    missing,
    within_limits,
)

if TYPE_CHECKING:
    import anthropic

KEY, URL = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
HOSTED = "api.anthropic.com"
_STOPS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refused"}


def make(argument: str, tools: Tools) -> LlmProposer:
    """`anthropic:MODEL`. Raises UsageError without a model, or without a key where the hosted API wants one."""
    options = parse_options("anthropic", argument)
    return make_llm(options, tools, endpoint(options, tools))


def endpoint(options: Options, tools: Tools) -> AnthropicEndpoint:
    check_installed("anthropic")
    url = anthropic_url(tools.environ.get(URL, ""))
    access = access_from(options, tools, url=url, key_variable=KEY, url_variable=URL)
    if not access.key and host_of(url) == HOSTED:
        raise UsageError(f"no key in {KEY}")
    return AnthropicEndpoint(access)


class AnthropicEndpoint:
    kind = "anthropic"

    def __init__(self, access: Access) -> None:
        self.url = access.url
        self._access = access
        self._lock = Lock()
        self._made: anthropic.Anthropic | None = None

    def send(self, request: Request) -> Reply:
        client = self._client()
        reading = _Reading(self._access)
        with faults_as_ours(self._access, seen=reading.taken), client.messages.create(**_body(request)) as stream:
            check_is_stream(stream.response.headers.get("content-type", ""), self._access)
            return reading.read(stream)

    def _client(self) -> anthropic.Anthropic:
        with self._lock:
            if self._made is None:
                try:
                    from anthropic import Anthropic, DefaultHttpxClient
                except ImportError as error:
                    raise missing("anthropic", str(error)) from error
                http = DefaultHttpxClient(follow_redirects=False)  # a key goes to one host only
                weakref.finalize(self, http.close)
                self._made = Anthropic(
                    api_key=self._access.key or "none",  # servers of one's own take any
                    base_url=self.url,
                    max_retries=0,
                    timeout=self._access.read_s,
                    http_client=http,
                )
            return self._made


def _body(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "system": request.system,
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        "max_tokens": request.max_tokens,
        "stream": True,
    }
    return body if request.temperature is None else {**body, "temperature": request.temperature}


class _Reading:
    """One answer, event by event. What went in is said at the start, what came out at the end."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._pieces: list[str] = []
        self._tokens_in: int | None = None
        self._tokens_out: int | None = None
        self._stop: str | None = None

    def taken(self) -> Taken:
        known = self._tokens_in is not None and self._tokens_out is not None
        return Taken(known=known, tokens_in=self._tokens_in or 0, tokens_out=self._tokens_out or 0)

    def read(self, stream: anthropic.Stream[Any]) -> Reply:
        n_characters = 0
        for event in within_limits(stream, self._access, seen=self.taken):
            if event.type == "message_start":
                self._tokens_in = _tokens_in(event.message.usage)
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                self._pieces.append(event.delta.text)
                n_characters += len(event.delta.text)
            elif event.type == "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                self._tokens_out = counted(event.usage.output_tokens)
            if n_characters > MAX_CHARACTERS:
                raise CallError(f"the answer of {self._access.url} does not end", taken=self.taken())
        if self._stop is None:
            raise CallError(f"the answer of {self._access.url} stopped half-way", taken=self.taken())
        return Reply(
            text=joined(self._pieces, self._access),
            stop=_STOPS.get(self._stop, "end"),
            tokens_in=self._tokens_in,
            tokens_out=self._tokens_out,
        )


def _tokens_in(usage: Any) -> int | None:
    """With what was written to or read from a cache, at the full price: more than is billed rather than less."""
    sent = counted(usage.input_tokens)
    cached = [counted(usage.cache_creation_input_tokens or 0), counted(usage.cache_read_input_tokens or 0)]
    return None if sent is None else sent + sum(number or 0 for number in cached)
