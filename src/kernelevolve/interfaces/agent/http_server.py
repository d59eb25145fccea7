"""The verbs over HTTP: POST /v1/VERB with a JSON object, answered with one. For this machine, unless told otherwise.

Who may call is decided before a byte of the body is read: the token, then the Host and Origin headers (a web page a
person happens to visit can send requests to this machine too), then the size.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from kernelevolve.errors import MachineError
from kernelevolve.interfaces.agent.answers import HTTP_STATUS, STOP, answer, failure
from kernelevolve.interfaces.agent.service import Service

MAX_BODY = 4 * 2**20
IDLE_CONNECTION_S = 60
LOCAL = ("127.0.0.1", "localhost", "[::1]")
PREFIX = "/v1/"
STOPPED = "campaigns stay; what was not judged yet is judged when its campaign is opened again"


def allowed_hosts(host: str, port: int) -> tuple[str, ...]:
    """Host headers that name this server."""
    names = (*LOCAL, host) if host not in LOCAL else LOCAL
    return tuple(f"{name}:{port}" for name in names)


class HttpServer(ThreadingHTTPServer):
    """Bound at once; `port` 0 takes a free one. Raises MachineError when it cannot be had."""

    daemon_threads = True

    def __init__(
        self, service: Service, *, token: str, host: str = "127.0.0.1", port: int = 0, may_be_stopped: bool = False
    ) -> None:
        """`may_be_stopped`: a call of `stop` ends it."""
        self.service, self.token, self.may_be_stopped = service, token, may_be_stopped
        self.last_used = time.monotonic()
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise MachineError(f"cannot listen on {host}:{port}: {error}") from error
        self.port = int(self.server_address[1])
        self.hosts = allowed_hosts(host, self.port)

    def serve_until_idle(self, idle_s: float | None, *, look_every_s: float = 1.0) -> None:
        """Blocks. Ends by `shutdown`, or after `idle_s` without a request while nothing is judged."""
        if idle_s is not None:
            threading.Thread(target=self._watch, args=(idle_s, look_every_s), daemon=True).start()
        self.serve_forever(poll_interval=0.2)

    def _watch(self, idle_s: float, look_every_s: float) -> None:
        while self.service.busy or time.monotonic() - self.last_used < idle_s:
            time.sleep(look_every_s)
        self.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "kernelevolve"
    timeout = IDLE_CONNECTION_S

    @property
    def _ours(self) -> HttpServer:
        return cast(HttpServer, self.server)

    def do_POST(self) -> None:
        self._ours.last_used = time.monotonic()
        refused = self._refusal()
        if refused is not None:
            self.close_connection = True  # the body was not read
            return self._send(refused)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            given = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            return self._send(failure("usage", "the body is not JSON", "send a JSON object with the verb's arguments"))
        if not isinstance(given, dict):
            return self._send(failure("usage", "the body is not an object", 'send arguments by name: {"campaign": ..}'))
        verb = self.path.removeprefix(PREFIX)
        if verb == STOP and self._ours.may_be_stopped:
            self.close_connection = True
            self._send(answer(stopped=True, note=STOPPED))
            threading.Thread(target=self._ours.shutdown, daemon=True).start()
            return None
        return self._send(self._ours.service.call(verb, given))

    def do_GET(self) -> None:
        self.close_connection = True
        self._send(failure("usage", "verbs are called with POST", f"POST {PREFIX}tasks with the token and {{}}"))

    def _refusal(self) -> dict[str, Any] | None:
        headers = self.headers
        given = (headers.get("Authorization") or "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(given.encode(), self._ours.token.encode()):
            return failure("unauthorized", "no token, or a wrong one", "send the header Authorization: Bearer TOKEN")
        host, origin = headers.get("Host") or "", headers.get("Origin")
        if host not in self._ours.hosts or (origin is not None and origin.partition("://")[2] not in self._ours.hosts):
            return failure("unauthorized", "not called by a name of this server", f"use {self._ours.hosts[0]}")
        length = headers.get("Content-Length") or ""
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in headers:
            return failure("usage", "the request has no Content-Length", "send the body whole, with its length")
        if int(length) > MAX_BODY:
            return failure("too_large", f"{length} bytes; at most {MAX_BODY} are read", "send smaller files or a patch")
        if not self.path.startswith(PREFIX):
            return failure("unknown", f"there is nothing at {self.path[:80]!r}", f"verbs are at {PREFIX}VERB")
        return None

    def _send(self, answered: dict[str, Any]) -> None:
        error = answered.get("error")
        body = json.dumps(answered, allow_nan=False).encode()
        self.send_response(HTTP_STATUS.get(error["kind"], 500) if error else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a request may hold a token, and standard error may belong to an agent."""
