"""Whole campaigns on the fake platform with a command and with a mix: kept, killed, resumed, paid for once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from kernelevolve.interfaces.cli.main import main
from kernelevolve.interfaces.record import load_record
from kernelevolve.model.events import Settled
from kernelevolve.store import open_store

AGENT = """
import os, pathlib, sys, time
seed, log, slow = sys.argv[1:4]
with open(log, "a") as file:
    file.write(seed + "\\n")
time.sleep(float(slow))
text = f"map_id\\nvalue = {int(seed) % 1000}\\n"
pathlib.Path("ANSWER/map_id.fake").write_text(text)
pathlib.Path("ANSWER/candidate.toml").write_text('language = "fake"\\nintent = "a number"\\n')
pathlib.Path("ANSWER/usage.toml").write_text("tokens_in = 10\\ntokens_out = 5\\nusd = 0.01\\n")
print("thinking about", seed)
"""
RUN = ("run", "map_id", "--platform", "fake", "--threads", "1", "--json", "--max-usd", "50")


def agent(folder: Path, slow_s: float = 0.0) -> str:
    (folder / "agent.py").write_text(AGENT)
    argv = [sys.executable, "-B", "{here}/agent.py", "{seed}", "{here}/log", str(slow_s)]
    (folder / "tiny.toml").write_text(f"argv = {json.dumps(argv)}\n[cost]\nusd = 0.5\ntokens = 1000\n")
    return f"command:{folder / 'tiny.toml'}"


def settled(store: Path) -> list[Settled]:
    opened = open_store(store)
    return [event for event in opened.read(opened.resolve("latest")) if isinstance(event, Settled)]


def test_a_campaign_driven_by_a_command_keeps_transcripts_and_books(tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert main([*RUN, "--proposer", agent(tmp_path), "--max-candidates", "6", "--store", str(store)]) == 0
    record = load_record(open_store(store), "latest")
    assert {row.candidate.origin.proposer for row in record.rows.values()} == {"command:tiny"}
    calls, runs = settled(store), (tmp_path / "log").read_text().splitlines()
    assert len(calls) == len(runs) == len(set(runs))
    assert {(call.outcome, call.tokens_in, call.tokens_out, call.usd) for call in calls} == {("answered", 10, 5, 0.01)}
    kept = list((store / record.campaign_id / "transcripts").iterdir())
    assert len(kept) == len(runs)
    assert all("thinking about" in path.read_text() for path in kept)


def test_a_mix_with_a_paid_command_uses_both(tmp_path: Path) -> None:
    store = tmp_path / "store"
    name = f"mix:fake,{agent(tmp_path)}"
    assert main([*RUN, "--proposer", name, "--max-candidates", "16", "--store", str(store)]) == 0
    rows = load_record(open_store(store), "latest").rows.values()
    counts = Counter(row.candidate.origin.proposer for row in rows)
    assert set(counts) == {"fake", "command:tiny"}
    assert min(counts.values()) >= 1


@pytest.mark.slow
def test_a_campaign_killed_within_a_run_leaves_no_agent_and_pays_once_for_what_was_answered(tmp_path: Path) -> None:
    """PS29 PS53"""
    store = tmp_path / "store"
    words = [*RUN, "--proposer", agent(tmp_path, 0.4), "--max-candidates", "5", "--store", str(store)]
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelevolve.interfaces.cli.main", *words], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=str(tmp_path)),
    )  # fmt: skip
    log = tmp_path / "log"
    end = time.monotonic() + 60
    while not log.exists() or len(log.read_text().splitlines()) < 3:
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    n_before = len(log.read_text().splitlines())
    time.sleep(0.6)
    assert len(log.read_text().splitlines()) == n_before, "nobody goes on alone"
    assert main(["resume", "latest", "--store", str(store), "--json"]) == 0
    calls = settled(store)
    assert Counter(call.outcome for call in calls)["lost"] <= 1
    assert len(calls) == len(log.read_text().splitlines())
    assert len(load_record(open_store(store), "latest").rows) == 5
