"""`archive`, `unarchive` and `lineage` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernelevolve.interfaces.cli.main import main
from kernelevolve.store import open_store
from kernelevolve.testing.campaign_samples import small_tree
from kernelevolve.testing.samples import sample_opened


def asked(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = open_store(tmp_path / "store")
    store.append(store.open_campaign(sample_opened()), small_tree())
    return tmp_path / "store"


def test_there_and_back(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, other = tmp_path / "one.kev", tmp_path / "other"
    code, written = asked(capsys, "archive", "latest", file, "--store", folder)
    assert (code, written["n_events"], written["n_bytes"]) == (0, 12, file.stat().st_size)
    code, found = asked(capsys, "unarchive", file, "--store", other)
    assert (code, found["campaign"], found["was"]) == (0, written["campaign"], written["campaign"])
    assert open_store(other).read(found["campaign"]) == open_store(folder).read(found["campaign"])
    _, again = asked(capsys, "unarchive", file, "--store", other)
    assert again["campaign"] != again["was"] == written["campaign"]
    assert main(["unarchive", str(file), "--store", str(other)]) == 0
    assert f"(was {written['campaign']})" in capsys.readouterr().out


def test_says_in_one_line_what_is_wrong(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.kev"
    file.write_text("no archive")
    assert main(["archive", "latest", str(file), "--store", str(folder)]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["unarchive", str(file), "--store", str(folder)]) == 4
    assert capsys.readouterr().err.startswith("error: ")
    assert main(["archive", "latest", str(tmp_path / "x.kev"), "--store", str(tmp_path / "none")]) == 2


def test_lineage_of_a_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = asked(capsys, "lineage", "latest", 4, "--store", folder, "--around", 1)
    assert code == 0
    assert [node["step"] for node in found["lineage"]] == [1, 4]
    assert [node["step"] for node in found["siblings"]] == [3]
    assert ([node["step"] for node in found["children"]], found["n_children"]) == ([6], 1)
    assert found["best_ancestor"] == 1
    assert main(["lineage", "latest", "5", "--store", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "  5  wrong  mutate fake sample" in text
    assert main(["lineage", "latest", "99", "--store", str(folder)]) == 2
    assert "no step 99" in capsys.readouterr().err
