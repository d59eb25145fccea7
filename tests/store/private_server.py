"""A real PostgreSQL server: private, in a temporary folder, gone at the end."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest


def _program(name: str) -> str | None:
    found = shutil.which(name)
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return found or (str(places[0]) if places else None)


def _as_server_user(command: list[str], owner: str | None) -> list[str]:
    """PostgreSQL refuses to run as root."""
    if owner is None:
        return command
    account = pwd.getpwnam(owner)
    identity = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    return ["setpriv", *identity, *command]


def _owner() -> str | None:
    if os.geteuid() != 0:
        return None
    names = {account.pw_name for account in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of an empty database on a server of this test run alone, reached through a socket."""
    initdb, server = _program("initdb"), _program("postgres")
    if initdb is None or server is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="ke-pg-", dir="/tmp"))  # a socket's path must be short
    data, log = folder / "data", folder / "log"
    if owner is not None:
        shutil.chown(folder, owner)
    made = subprocess.run(
        _as_server_user([initdb, "-D", str(data), "-U", "ke", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"], owner),
        capture_output=True, text=True, check=False, cwd="/tmp",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    options = ["-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            _as_server_user([server, "-D", str(data), *options], owner), stdout=output, stderr=output, cwd="/tmp"
        )
    try:
        _wait(folder / ".s.PGSQL.5432", process, log)
        yield f"postgresql://ke@/postgres?host={folder}"
    finally:
        process.send_signal(signal.SIGINT)  # does not wait for connections that stores still hold
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(socket: Path, process: subprocess.Popen[bytes], log: Path, timeout_s: float = 30.0) -> None:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            psycopg.connect(f"postgresql://ke@/postgres?host={socket.parent}").close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"the server did not start: {log.read_text()}")


def url_of(postgres_url: str, folder: Path) -> str:
    """A schema of its own in the server's database for each `folder`, made when missing."""
    schema = f"ke_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(7)")  # IF NOT EXISTS alone fails when two do it at once
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")  # type: ignore[call-overload]
    return f"{postgres_url}&options=-csearch_path%3D{schema}"
