"""`kernelevolve record`: any campaign becomes a file that another campaign can replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelevolve.interfaces.cli.main import main
from kernelevolve.interfaces.record import load_record
from kernelevolve.proposers.replay_file import read_replay
from kernelevolve.store import open_store

RUN = ("run", "map_id", "--platform", "fake", "--threads", "1", "--max-candidates")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("record") / "store"
    assert main([*RUN, "30", "--store", str(folder), "--json"]) == 0
    return folder


def record(store: Path, *words: object) -> int:
    return main(["record", *map(str, words), "--store", str(store), "--json"])


def test_a_recorded_campaign_is_replayed_with_the_same_candidates(store: Path, tmp_path: Path) -> None:
    file, second = tmp_path / "one.jsonl", tmp_path / "second"
    assert record(store, "latest", file) == 0
    replay = read_replay(file)
    before = load_record(open_store(store), "latest")
    assert [entry.candidate for entry in replay.entries] == [row.candidate for row in before.rows.values()]
    assert [entry.move for entry in replay.entries] == [row.move for row in before.rows.values()]
    assert replay.header is not None
    assert replay.header.winner == (before.winner.step if before.winner else None)
    assert main([*RUN, "40", "--proposer", f"replay:{file}", "--store", str(second), "--json"]) == 0
    after = load_record(open_store(second), "latest")
    unique = list(dict.fromkeys(row.candidate.id for row in before.rows.values()))
    assert [row.candidate.id for row in after.rows.values()] == unique


def test_it_tells_nothing_of_the_shapes_that_a_search_hides(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    record(store, "latest", file)
    shapes = load_record(open_store(store), "latest").opened.task.shapes
    text = file.read_text()
    assert "log_ratios" not in text
    assert '"shape"' not in text
    for shape in (*shapes.search, *shapes.sealed):
        for axis, size in shape.items():
            assert f'"{axis}":{size}' not in text
            assert f"{axis}={size}" not in text


def test_less_than_all_may_be_recorded(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = load_record(open_store(store), "latest")
    assert record(store, "latest", tmp_path / "correct.jsonl", "--correct") == 0
    correct = read_replay(tmp_path / "correct.jsonl").entries
    assert [e.step for e in correct] == [r.step for r in rows.rows.values() if r.correct and r.same_as is None]
    assert all(entry.recorded and entry.recorded.speedup for entry in correct)
    assert record(store, "latest", tmp_path / "line.jsonl", "--lineage") == 0
    assert rows.leader is not None
    assert [e.step for e in read_replay(tmp_path / "line.jsonl").entries] == rows.lineage(rows.leader.step)
    data = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(data) == {"schema", "campaign", "file", "n_candidates"}
    assert data["schema"] == "kernelevolve.record/1"


def test_a_file_is_not_written_over_unasked(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text("precious")
    assert record(store, "latest", file) == 2
    assert file.read_text() == "precious"
    assert "is there already" in capsys.readouterr().err
    assert record(store, "latest", file, "--force") == 0
    assert record(store, "latest", tmp_path / "no" / "folder.jsonl") == 2
    assert record(store, "nosuch", tmp_path / "x.jsonl") == 2
