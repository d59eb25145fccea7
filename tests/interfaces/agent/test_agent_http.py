"""The verbs over HTTP: who is let in, and what a status says."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelevolve.interfaces.agent.http_server import MAX_BODY, HttpServer
from kernelevolve.interfaces.agent.service import Service
from tests.interfaces.agent.sessions import ROW_SCALE, Session, leaks, number, opened, workshop

TOKEN = "a-token-of-the-test"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpServer]:
    service = Service(workshop(tmp_path))
    with HttpServer(service, token=TOKEN) as made:
        thread = threading.Thread(target=made.serve_until_idle, args=(None,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()
    service.close()


def post(server: HttpServer, path: str, body: bytes = b"{}", **headers: str) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    given = {"Authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): text for name, text in headers.items()}}
    try:
        connection.putrequest("POST", path, skip_host="Host" in given)
        for name, text in {"Content-Length": str(len(body)), **given}.items():
            connection.putheader(name, text)
        connection.endheaders(body if "Content-Length" not in headers or len(body) else None)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_whole_campaign(server: HttpServer, tmp_path: Path) -> None:
    def call(verb: str, given: dict[str, Any]) -> dict[str, Any]:
        return post(server, f"/v1/{verb}", json.dumps(given).encode())[1]

    agent = Session(call)
    campaign = opened(agent, max_candidates=3)
    for n in (0, 1, 2):
        ask = agent.ok("get_brief", campaign=campaign)["ask"]
        agent.wait(agent.ok("propose", campaign=campaign, ask=ask, files=number(n))["handle"])
    status, spent = post(server, "/v1/propose", json.dumps({"campaign": campaign, "files": number(5)}).encode())
    assert (status, spent["error"]["kind"]) == (429, "spent")
    assert agent.wait(agent.ok("finish", campaign=campaign)["handle"])["claim"]["won"] in (True, False)
    assert leaks(agent.answers, tmp_path) == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer \xe9"}, 401),
        ({"Host": "evil.example"}, 401),
        ({"Origin": "http://evil.example"}, 401),
        ({"Origin": "null"}, 401),
        ({"Content_Length": "-1"}, 400),
        ({"Content_Length": "many"}, 400),
        ({"Content_Length": str(MAX_BODY + 1)}, 413),
        ({"Transfer_Encoding": "chunked"}, 400),
    ],
)
def test_who_is_not_let_in(server: HttpServer, headers: dict[str, str], status: int) -> None:
    found, answered = post(server, "/v1/tasks", b"", **headers)
    assert found == status
    assert answered["error"]["fix"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/tasks", b"{", 400),
        ("/v1/tasks", b"[]", 400),
        ("/v1/tasks", b"[" * 100_000, 400),
        ("/v1/tasks", b"\xff\xfe", 400),
        ("/v1/tasks", b'{"x": 1}', 400),
        ("/v1/nothing", b"{}", 404),
        ("/v2/tasks", b"{}", 404),
        ("/v1/status", b'{"campaign": "none"}', 404),
        ("/v1/open_campaign", json.dumps({"task": ROW_SCALE, "platform": "gpu"}).encode(), 400),
        ("/v1/tasks", b"{}", 200),
    ],
)
def test_the_status_tells_the_kind(server: HttpServer, path: str, body: bytes, status: int) -> None:
    assert post(server, path, body)[0] == status


def test_an_origin_of_our_own_is_fine(server: HttpServer) -> None:
    assert post(server, "/v1/tasks", Origin=f"http://127.0.0.1:{server.port}")[0] == 200


def test_nobody_calling_ends_it(tmp_path: Path) -> None:
    service = Service(workshop(tmp_path))
    with HttpServer(service, token=TOKEN) as server:
        server.serve_until_idle(0.2, look_every_s=0.05)
    service.close()
