"""Any endpoint that speaks OpenAI's chat completions: the hosted API, vLLM, SGLang, Ollama, llama.cpp, transformers."""

from __future__ import annotations

import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any

from kernelevolve.errors import UsageError
from kernelevolve.proposers.base import Tools
from kernelevolve.proposers.llm.address import host_of, openai_url
from kernelevolve.proposers.llm.base import UNKNOWN, CallError, Reply, Request, Taken
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
    import openai

KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
HOSTED = "api.openai.com"
_STOPS = {"length": "length", "content_filter": "refused"}


def make(argument: str, tools: Tools) -> LlmProposer:
    """`openai:MODEL`. Raises UsageError without a model, or without a key where the hosted API wants one."""
    options = parse_options("openai", argument)
    return make_llm(options, tools, endpoint(options, tools))


def endpoint(options: Options, tools: Tools) -> OpenAIEndpoint:
    check_installed("openai")
    url = openai_url(tools.environ.get(URL, ""))
    access = access_from(options, tools, url=url, key_variable=KEY, url_variable=URL)
    if not access.key and host_of(url) == HOSTED:
        raise UsageError(f"no key in {KEY}; to use a server of your own set {URL}, as in http://localhost:8000/v1")
    return OpenAIEndpoint(access)


class OpenAIEndpoint:
    kind = "openai"

    def __init__(self, access: Access) -> None:
        self.url = access.url
        self._access = access
        self._lock = Lock()
        self._made: openai.OpenAI | None = None

    def send(self, request: Request) -> Reply:
        client = self._client()
        reading = _Reading(self._access)
        with (
            faults_as_ours(self._access, seen=reading.taken),
            client.chat.completions.create(**self._body(request)) as stream,
        ):
            check_is_stream(stream.response.headers.get("content-type", ""), self._access)
            return reading.read(stream)

    def _body(self, request: Request) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.text} for message in request.messages]
        # The hosted API has given the limit a new name; most other servers know only the old one.
        limit = "max_completion_tokens" if host_of(self.url) == HOSTED else "max_tokens"
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": "system", "content": request.system}, *messages],
            limit: request.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        return body if request.temperature is None else {**body, "temperature": request.temperature}

    def _client(self) -> openai.OpenAI:
        with self._lock:
            if self._made is None:
                try:
                    from openai import DefaultHttpxClient, OpenAI
                except ImportError as error:
                    raise missing("openai", str(error)) from error
                http = DefaultHttpxClient(follow_redirects=False)  # a key goes to one host only
                weakref.finalize(self, http.close)
                self._made = OpenAI(
                    api_key=self._access.key or "none",  # servers of one's own take any
                    base_url=self.url,
                    max_retries=0,
                    timeout=self._access.read_s,
                    http_client=http,
                )
            return self._made


class _Reading:
    """One answer, piece by piece."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._pieces: list[str] = []
        self._usage: Any = None
        self._stop: str | None = None

    def taken(self) -> Taken:
        tokens_in = counted(getattr(self._usage, "prompt_tokens", None))
        tokens_out = counted(getattr(self._usage, "completion_tokens", None))
        if tokens_in is None or tokens_out is None:
            return UNKNOWN
        return Taken(known=True, tokens_in=tokens_in, tokens_out=tokens_out)

    def read(self, stream: openai.Stream[Any]) -> Reply:
        n_characters = 0
        for chunk in within_limits(stream, self._access, seen=self.taken):
            self._usage = getattr(chunk, "usage", None) or self._usage
            for choice in chunk.choices or ():
                self._stop = choice.finish_reason or self._stop
                if choice.delta is not None and choice.delta.content:
                    self._pieces.append(choice.delta.content)
                    n_characters += len(choice.delta.content)
            if n_characters > MAX_CHARACTERS:
                raise CallError(f"the answer of {self._access.url} does not end", taken=self.taken())
        if self._stop is None:
            raise CallError(f"the answer of {self._access.url} stopped half-way", taken=self.taken())
        taken = self.taken()
        return Reply(
            text=joined(self._pieces, self._access),
            stop=_STOPS.get(self._stop, "end"),
            tokens_in=taken.tokens_in if taken.known else None,
            tokens_out=taken.tokens_out if taken.known else None,
        )
