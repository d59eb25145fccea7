"""The verbs from a shell: a server of its own in the background, found again by the next command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelevolve.interfaces.agent.client import STATE, read_state
from kernelevolve.interfaces.agent.verbs import VERBS
from tests.interfaces.agent.sessions import TASKS, Session, leaks, number

CLI = [sys.executable, "-m", "kernelevolve.interfaces.cli.main"]


def command(folder: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KERNELEVOLVE_STORE": str(folder / "store")}
    return subprocess.run(
        [*CLI, "agent", *words], capture_output=True, text=True, input=stdin, env=environment, cwd=TASKS, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    state = read_state(tmp_path / "store" / STATE)
    if state is not None:
        os.kill(state.pid, signal.SIGTERM)
        for _ in range(100):
            if not (tmp_path / "store" / STATE).exists():
                return
            time.sleep(0.05)
        raise AssertionError("the server does not end")


def test_a_campaign_from_a_shell(folder: Path) -> None:
    def call(verb: str, given: dict[str, Any]) -> dict[str, Any]:
        finished = command(folder, verb, json.dumps(given), "--json")
        assert finished.returncode in (0, 2), finished.stderr
        answered: dict[str, Any] = json.loads(finished.stdout)
        assert (finished.returncode == 2) == ("error" in answered)
        return answered

    agent = Session(call)
    campaign = agent.ok("open_campaign", task="row_scale", platform="fake", settings={"max_candidates": 1})["campaign"]
    state = read_state(folder / "store" / STATE)
    assert state is not None
    assert (folder / "store" / STATE).stat().st_mode & 0o077 == 0
    source = folder / "row_scale.fake"
    source.write_text(number(1)["row_scale.fake"])
    words = ("propose", json.dumps({"campaign": campaign}), "--file", str(source), "--wait-s", "20")
    assert json.loads(command(folder, *words).stdout)["state"] == "done"
    assert agent.error("propose", campaign=campaign, files=number(2))[0] == "spent"
    agent.ok("finish", campaign=campaign)
    waited = command(folder, "job", "-", "--wait-s", "20", stdin=json.dumps({"handle": f"{campaign}:finish"}))
    assert "claim" in json.loads(waited.stdout)
    assert read_state(folder / "store" / STATE) == state  # one server all along
    assert state.token not in json.dumps(agent.answers)
    assert leaks(agent.answers, folder) == []


def test_a_dead_servers_address_is_forgotten(folder: Path) -> None:
    assert command(folder, "tasks").returncode == 0
    first = read_state(folder / "store" / STATE)
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    time.sleep(0.2)
    assert command(folder, "campaigns").returncode == 0
    second = read_state(folder / "store" / STATE)
    assert second is not None
    assert second.pid != first.pid


@pytest.mark.parametrize("words", [("tasks", "{"), ("tasks", "[]"), ("propose", "{}", "--file", "/nowhere")])
def test_what_is_no_request_starts_no_server(folder: Path, words: tuple[str, ...]) -> None:
    finished = command(folder, *words)
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: ")
    assert not (folder / "store").exists()


def test_the_server_can_be_stopped(folder: Path) -> None:
    assert json.loads(command(folder, "stop").stdout)["stopped"] is False
    command(folder, "campaigns")
    assert json.loads(command(folder, "stop").stdout)["stopped"] is True
    for _ in range(100):
        if not (folder / "store" / STATE).exists():
            break
        time.sleep(0.05)
    assert json.loads(command(folder, "stop").stdout)["stopped"] is False


def test_help_of_a_verb_has_its_arguments(folder: Path) -> None:
    page = command(folder, "help", "propose").stdout
    for word in ("`search` (string, required)", "`replace`", "`evaluate` (boolean, default True)"):
        assert word in page
    whole = command(folder, "help").stdout
    for verb in VERBS:
        assert f"### `{verb.name}`" in whole
        assert all(f"- `{name}` (" in whole for name in verb.model_fields)
    assert "`max_seconds` (number, default 1800.0)" in whole
    assert command(folder, "help", "fly").returncode == 2


def test_help_is_the_agents_page(folder: Path) -> None:
    assert command(folder, "help").stdout.startswith("# Running a campaign as an agent")


def test_serve_wants_to_know_how() -> None:
    for words in (
        (),
        ("--mcp", "carrier-pigeon"),
        ("--mcp", "stdio", "--http"),
        ("--http", "--store", "postgresql://x/y"),
    ):
        finished = subprocess.run([*CLI, "serve", *words], capture_output=True, text=True, check=False)
        assert (finished.returncode, finished.stderr[:6]) == (2, "error:")
