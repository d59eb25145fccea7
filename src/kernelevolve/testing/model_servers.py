"""Model APIs for tests: real HTTP servers on this machine that answer by a script, faults included.

    with OpenAIServer([Turn(text="hello")]) as server:
        ...  # OPENAI_BASE_URL = server.url

They are as strict as the real ones about paths and keys, and count what a provider would bill.
"""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PIECE = 24
"""Characters per event of a stream."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the server does with one request."""

    text: str = ""
    tokens_in: int = 100
    tokens_out: int = 50
    stop: str = "end"
    """end, length or refused; each API has its own words for them."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = "scripted"
    break_after: int | None = None
    """Hang up after so many events: half a stream."""
    end_early: bool = False
    """End the stream properly, but without saying that the answer is finished."""
    raw: bytes | None = None
    """Sent instead of everything, with `content_type`: garbage."""
    content_type: str = "text/event-stream"
    pause_s: float = 0.0
    """Before each event."""
    reports_usage: bool = True

    @property
    def billed(self) -> tuple[int, int]:
        """Providers bill what was generated, whether or not it arrived; errors and foreign pages cost nothing."""
        free = self.status != 200 or self.content_type != "text/event-stream"
        return (0, 0) if free else (self.tokens_in, self.tokens_out)


@dataclass(frozen=True, kw_only=True)
class Received:
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """All that was said, the system's words included."""
        system = self.body.get("system", "")
        return "\n".join([str(system), *(str(message["content"]) for message in self.body["messages"])])


Script = Sequence[Turn] | Callable[[Received], Turn]


class ModelServer(ABC):
    """`script`: turns in order, or a function of the request, called from the server's threads."""

    prefix = "/v1"
    endpoint = ""

    def __init__(self, script: Script, *, prefix: str | None = None, key: str | None = None) -> None:
        self.prefix = self.prefix if prefix is None else prefix
        self.received: list[Received] = []
        self.billed_in = 0
        self.billed_out = 0
        self._script = script
        self._key = key
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return self.root + self.prefix

    @property
    def n_calls(self) -> int:
        return len(self.received)

    @abstractmethod
    def key_in(self, headers: Mapping[str, str]) -> str: ...

    @abstractmethod
    def events(self, turn: Turn, body: dict[str, Any]) -> Iterator[str]:
        """The stream's events, as text with their blank lines."""

    @abstractmethod
    def error_body(self, turn: Turn) -> dict[str, Any]: ...

    def take(self, request: Received) -> Turn:
        if request.path != self.prefix + self.endpoint:
            return Turn(status=404, error=f"no such path: {request.path}")
        if self._key is not None and self.key_in(request.headers) != self._key:
            return Turn(status=401, error=f"wrong key: {self.key_in(request.headers)}")
        with self._lock:
            self.received.append(request)
            number = len(self.received)
        if callable(self._script):
            turn = self._script(request)
        elif number <= len(self._script):
            turn = self._script[number - 1]
        else:
            turn = Turn(status=400, error="the script is over")
        with self._lock:
            self.billed_in += turn.billed[0]
            self.billed_out += turn.billed[1]
        return turn

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                return

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Received(path=self.path, headers=headers, body=json.loads(data))
                try:
                    _respond(self, server, server.take(request), request.body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client has gone

        return Handler


def _respond(handler: BaseHTTPRequestHandler, server: ModelServer, turn: Turn, body: dict[str, Any]) -> None:
    if turn.status != 200:
        data = json.dumps(server.error_body(turn)).encode()
        _head(handler, turn.status, {"content-type": "application/json", **turn.headers, "content-length": len(data)})
        handler.wfile.write(data)
        return
    _head(handler, 200, {"content-type": turn.content_type, **turn.headers, "transfer-encoding": "chunked"})
    sent = iter([turn.raw]) if turn.raw is not None else (event.encode() for event in server.events(turn, body))
    for number, data in enumerate(sent):
        if turn.break_after is not None and number >= turn.break_after:
            handler.close_connection = True
            return  # in the middle of the body: no last chunk
        time.sleep(turn.pause_s)
        if not data:
            continue  # a chunk of nothing would end the body
        handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        handler.wfile.flush()
    handler.wfile.write(b"0\r\n\r\n")


def _head(handler: BaseHTTPRequestHandler, status: int, headers: Mapping[str, object]) -> None:
    handler.send_response_only(status)
    for name, value in headers.items():
        handler.send_header(name, str(value))
    handler.end_headers()


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


class OpenAIServer(ModelServer):
    endpoint = "/chat/completions"

    def key_in(self, headers: Mapping[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ")

    def error_body(self, turn: Turn) -> dict[str, Any]:
        return {"error": {"message": turn.error, "type": "scripted", "code": turn.status}}

    def events(self, turn: Turn, body: dict[str, Any]) -> Iterator[str]:
        def chunk(choices: list[dict[str, Any]], **more: Any) -> str:
            data = {
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"],
                "choices": choices, **more,
            }  # fmt: skip
            return f"data: {json.dumps(data)}\n\n"

        yield chunk([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
        for piece in _pieces(turn.text):
            yield chunk([{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
        if turn.end_early:
            return
        stop = {"end": "stop", "length": "length", "refused": "content_filter"}[turn.stop]
        yield chunk([{"index": 0, "delta": {}, "finish_reason": stop}])
        if turn.reports_usage and body.get("stream_options", {}).get("include_usage"):
            total = turn.tokens_in + turn.tokens_out
            usage = {"prompt_tokens": turn.tokens_in, "completion_tokens": turn.tokens_out, "total_tokens": total}
            yield chunk([], usage=usage)
        yield "data: [DONE]\n\n"


class AnthropicServer(ModelServer):
    """Its SDK wants the address without /v1."""

    prefix = ""
    endpoint = "/v1/messages"

    def key_in(self, headers: Mapping[str, str]) -> str:
        """Either way: its SDK changed from the one to the other."""
        return headers.get("x-api-key", "") or headers.get("authorization", "").removeprefix("Bearer ")

    def error_body(self, turn: Turn) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "scripted", "message": turn.error}}

    def events(self, turn: Turn, body: dict[str, Any]) -> Iterator[str]:
        def event(kind: str, **more: Any) -> str:
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"

        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": turn.tokens_in, "output_tokens": 1},
        }  # fmt: skip
        yield event("message_start", message=message)
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in _pieces(turn.text):
            yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        if turn.end_early:
            return
        yield event("content_block_stop", index=0)
        stop = {"end": "end_turn", "length": "max_tokens", "refused": "refusal"}[turn.stop]
        delta = {"stop_reason": stop, "stop_sequence": None}
        yield event("message_delta", delta=delta, usage={"output_tokens": turn.tokens_out})
        yield event("message_stop")
