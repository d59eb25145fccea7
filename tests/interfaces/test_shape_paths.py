"""--where and --path: parts of a domain as campaigns of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernelevolve.errors import TaskError, UsageError
from kernelevolve.interfaces.cli.main import main
from kernelevolve.interfaces.cli.paths import ShapePath, read_paths
from kernelevolve.interfaces.record import load_record
from kernelevolve.store import open_store
from kernelevolve.tasks import load_task
from kernelevolve.tasks.declared import paths_of
from kernelevolve.tasks.document import PathEntry

RUN = ("run", "map_id", "--platform", "fake", "--max-candidates", "8", "--threads", "1")
DECLARED = (PathEntry(name="small", where="B<=100", weight=3.0), PathEntry(name="large", where="B>=500"))
TABLES = """
[[platforms.cpu.paths]]
name = "short"
where = "C<=1024"
weight = 2.0
[[platforms.cpu.paths]]
name = "long"
where = "C>1024"
"""


def asked(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, Any]:
    capsys.readouterr()
    code = main([*map(str, words), "--json"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1, lines
    return code, json.loads(lines[0])


def test_a_run_of_a_part_stores_the_narrowed_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = asked(capsys, *RUN, "--where", "B>=500", "--store", tmp_path)
    assert code == 0
    task = load_record(open_store(tmp_path), data["campaign"]).opened.task
    assert task.where == "B>=500"
    assert [shape["B"] for shape in task.shapes.sealed] == [1009, 500]


def test_a_family_is_a_campaign_per_path_with_a_budget_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--path", "big=B>=500:7", "--path", "rest=", "--max-seconds", "9", "--store", tmp_path)
    code, data = asked(capsys, *RUN, *words)
    assert code == 0
    assert [(end["path"], end["where"]) for end in data["paths"]] == [("big", "B>=500"), ("rest", "")]
    assert all(end["reason"].endswith("(all 8 candidates spent)") for end in data["paths"])
    store = open_store(tmp_path)
    opened = [load_record(store, end["campaign"]).opened for end in data["paths"]]
    assert [found.settings.max_seconds for found in opened] == [7.0, 9.0]
    assert [found.task.where for found in opened] == ["B>=500", ""]


def test_a_family_for_people_says_why_each_path_ended_and_how_to_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, "--path", "big=B>=500", "--path", "rest=", "--store", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "why it ended" in text
    assert text.count("all 8 candidates spent") >= 2
    assert "together in one package: kernelevolve export map_id-" in text


@pytest.mark.parametrize(
    ("words", "needle"),
    [
        (("--path", "a=B>=5000000"), "no such size is in the domain"),
        (("--path", "a=B>=500", "--path", "a=B=1"), "two paths 'a'"),
        (("--path", "a"), "no path 'a'"),
        (("--path", "all"), "declares no paths"),
        (("--path", "a=B>=500:soon"), "not a number of seconds"),
        (("--path", "a=B>=500", "--where", "B=1"), "do not go together"),
        (("--where", "Q=1"), "no shape axis 'Q'"),
    ],
)
def test_an_impossible_path_is_refused_before_anything_is_stored(
    words: tuple[str, ...], needle: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, data = asked(capsys, *RUN, *words, "--store", tmp_path / "store")
    assert code == 2
    assert needle in data["error"]["message"]
    assert not (tmp_path / "store").exists() or open_store(tmp_path / "store").campaigns() == []


def test_declared_paths_share_the_time_by_weight() -> None:
    found = read_paths(["all"], DECLARED, max_seconds=40.0)
    assert found == [
        ShapePath(name="small", where="B<=100", max_seconds=30.0),
        ShapePath(name="large", where="B>=500", max_seconds=10.0),
    ]
    assert read_paths(["large:5"], DECLARED, max_seconds=40.0)[0].max_seconds == 5.0
    assert read_paths(["large"], DECLARED, max_seconds=40.0)[0].max_seconds == 40.0
    with pytest.raises(UsageError, match="it has small, large"):
        read_paths(["huge"], DECLARED, max_seconds=40.0)


@pytest.fixture
def softmax(tmp_path: Path) -> Path:
    """A copy of a built-in task to declare paths in."""
    from shutil import copytree

    from kernelevolve.tasks import BUILTIN

    return Path(copytree(BUILTIN / "softmax", tmp_path / "softmax"))


def declare(folder: Path, text: str) -> None:
    path = folder / "task.toml"
    path.write_text(path.read_text() + text)


def test_a_task_declares_paths_beside_its_shapes(softmax: Path) -> None:
    axes = [axis.name for axis in load_task(str(softmax)).axes]
    declare(softmax, TABLES.replace("C", axes[-1]))
    found = paths_of(str(softmax), platform="cpu")
    assert [(path.name, path.weight) for path in found] == [("short", 2.0), ("long", 1.0)]
    assert load_task(str(softmax)).content_id == load_task("softmax").content_id  # advice for a search, not the task
    assert paths_of("softmax", platform="cpu") == ()


@pytest.mark.parametrize(
    ("change", "needle"),
    [
        (('"C<=1024"', '"Q=1"'), "'Q' is not a shape axis"),
        (('"C<=1024"', '"C=?"'), "not understood"),
        (('"long"', '"short"'), "two paths 'short'"),
        (("2.0", "0.0"), "paths"),
        (("weight", "wieght"), "did you mean 'weight'"),
        (('"C<=1024"', '"C<=3"'), "no shape of shapes.shown lies in it"),
    ],
)
def test_faulty_paths_are_faults_of_the_task(softmax: Path, change: tuple[str, str], needle: str) -> None:
    axis = load_task(str(softmax)).axes[-1].name
    declare(softmax, TABLES.replace(*change).replace('"C', f'"{axis}'))
    with pytest.raises(TaskError, match=needle):
        load_task(str(softmax))


def test_showing_a_part_of_a_task(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = asked(capsys, "task", "show", "map_id", "--where", "B>=500")
    assert code == 0
    assert data["task"]["where"] == "B>=500"
    assert data["task_id"] != load_task("map_id").content_id
    code, data = asked(capsys, "task", "check", "map_id", "--static", "--where", "B=7")
    assert code == 2
