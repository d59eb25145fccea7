"""Calls the verbs of a server on this machine, started when there is none: for command lines.

The server outlives the command, so that judging goes on while an agent thinks. It ends by itself when nobody has
called for a while. How to reach it stands in a file that only the owner of the store can read.
"""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernelevolve.errors import MachineError
from kernelevolve.interfaces.agent.answers import STOP, answer
from kernelevolve.model.value import Value

STATE = "agent-server.json"
START_S = 60.0
CALL_S = 60.0
POLL_S = 0.05
HOST = "127.0.0.1"


class ServerState(Value):
    port: int
    pid: int
    token: str


def write_state(path: Path, state: ServerState) -> None:
    """Whole or not at all, and for the owner alone."""
    new = path.with_suffix(f".{os.getpid()}.new")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "w") as handle:
        handle.write(state.to_json())
    new.replace(path)


def read_state(path: Path) -> ServerState | None:
    try:
        return ServerState.model_validate_json(path.read_text())
    except (OSError, ValidationError, UnicodeDecodeError):
        return None


class Client:
    """For one store. `arguments`: of the server that is started when there is none."""

    def __init__(self, store: Path, *, arguments: tuple[str, ...] = (), idle_s: float = 900.0) -> None:
        self._store, self._arguments, self._idle_s = store, arguments, idle_s
        self._state = store / STATE

    def call(self, verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Raises MachineError when no server can be reached or started."""
        for _ in range(2):  # a server may end between the look and the call
            state = self._running() or self._start()
            try:
                return _post(state, verb, given)
            except ConnectionRefusedError:
                self._forget(state)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise MachineError(f"the server (process {state.pid}) gave no answer: {error}") from error
        raise MachineError("the server ended while it was called; try again")

    def stop(self) -> dict[str, Any]:
        """End the server, if there is one. Returns whether there was."""
        state = self._running()
        if state is None:
            return answer(stopped=False, note="no server is running")
        try:
            return _post(state, STOP, {})
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise MachineError(f"the server (process {state.pid}) gave no answer: {error}") from error

    def _running(self) -> ServerState | None:
        state = read_state(self._state)
        if state is None:
            return None
        try:
            connection = http.client.HTTPConnection(HOST, state.port, timeout=2.0)
            connection.connect()
            connection.close()
        except OSError:
            return None
        return state

    def _forget(self, state: ServerState) -> None:
        if read_state(self._state) == state:
            self._state.unlink(missing_ok=True)

    def _start(self) -> ServerState:
        """One process at a time: two commands at once must not start two servers."""
        self._store.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._store / "agent-server.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self._running()
            if state is not None:
                return state
            self._state.unlink(missing_ok=True)
            return self._wait_for(self._spawn())
        finally:
            os.close(lock)

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "kernelevolve.interfaces.cli.main", "serve", "--http", "--port", "0"]
        command += ["--store", str(self._store), "--state", str(self._state), "--idle-s", f"{self._idle_s:g}"]
        with (self._store / "agent-server.log").open("ab") as log:
            return subprocess.Popen(
                [*command, *self._arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _wait_for(self, process: subprocess.Popen[bytes]) -> ServerState:
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            state = read_state(self._state)
            if state is not None:
                return state
            if process.poll() is not None:
                break
            time.sleep(POLL_S)
        raise MachineError(f"the server did not start; see {self._store / 'agent-server.log'}")


def _post(state: ServerState, verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
    connection = http.client.HTTPConnection(HOST, state.port, timeout=CALL_S)
    try:
        headers = {"Authorization": f"Bearer {state.token}", "Content-Type": "application/json"}
        connection.request("POST", f"/v1/{verb}", json.dumps(dict(given)), headers)
        answered = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    if not isinstance(answered, dict):
        raise MachineError("the server answered with something else than an object")
    return answered
