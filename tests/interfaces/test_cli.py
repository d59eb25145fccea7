"""The command line: full runs on the fake platform, JSON for every command, exit codes, one-line errors."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from made_up_campaign import HOSTILE, events, record

from kernelevolve.interfaces.cli.border import guarded
from kernelevolve.interfaces.cli.main import main
from kernelevolve.interfaces.cli.run import run as run_command
from kernelevolve.interfaces.cli.summary import write_results
from kernelevolve.interfaces.cli.tree import tree_lines
from kernelevolve.interfaces.record import load_record
from kernelevolve.model.events import Settings
from kernelevolve.store import open_store

RUN = ("run", "map_id", "--platform", "fake", "--max-candidates", "30", "--threads", "1")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "store"
    assert main([*RUN, "--store", str(folder), "--json"]) == 0
    return folder


def asked(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, Any, str]:
    """Exit code, the JSON object on stdout, stderr."""
    capsys.readouterr()
    code = main([*map(str, words), "--json"])
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert len(lines) == 1, captured.out
    return code, json.loads(lines[0]), captured.err


KEYS = {
    ("campaign", "list"): {"campaigns"},
    ("campaign", "show"): {
        "campaign", "task", "status", "headline", "reason", "step", "level", "low_bound", "baselines", "domain",
        "sealed_shapes", "n_checks", "rule", "isolation", "lane", "counts", "n_candidates", "elapsed_s", "best_file",
        "report_file",
    },
    ("tree",): {"campaign", "winner", "lineage", "counts", "nodes"},
    ("diff", "latest", "2"): {"campaign", "from", "to", "diff"},
    ("report",): {"campaign", "file", "n_bytes"},
}  # fmt: skip


@pytest.mark.parametrize("words", KEYS, ids=" ".join)
def test_reading_commands_answer_one_object_with_a_schema(
    words: tuple[str, ...], store: Path, capsys: pytest.CaptureFixture[str]
):
    code, data, _ = asked(capsys, *words, "--store", store)
    name = ".".join(words[:2]) if words[0] == "campaign" else words[0]
    assert code == 0
    assert set(data) == KEYS[words] | {"schema"}
    assert data["schema"] == f"kernelevolve.{name}/1"


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("task", "list", "--platform", "fake"), {"tasks"}),
        (("task", "show", "map_id"), {"task_id", "prototype", "task"}),
        (("task", "check", "map_id", "--static"), {"task", "task_id", "ok", "reference_ran", "void", "admission"}),
        (("doctor", "--platform", "fake"), {"platform", "ready", "checks"}),
    ],
)
def test_commands_without_a_store_answer_too(
    words: tuple[str, ...], keys: set[str], capsys: pytest.CaptureFixture[str]
):
    code, data, _ = asked(capsys, *words)
    assert code == 0
    assert set(data) == keys | {"schema"}


def test_a_run_leaves_a_kernel_and_a_report_and_the_numbers(store: Path, capsys: pytest.CaptureFixture[str]):
    _, data, _ = asked(capsys, "campaign", "show", "--store", store)
    assert data["status"] == "improved"
    assert Path(data["best_file"]).read_text().startswith("// map_id: step ")
    assert "<svg" in Path(data["report_file"]).read_text()
    levels = {(found["level"], found["baseline"]) for found in data["baselines"]}
    assert levels == {(level, name) for level in ("sealed", "confirm") for name in ("eager", "compile")}
    for found in data["baselines"]:
        assert all(shape["low"] <= shape["speedup"] <= shape["high"] for shape in found["shapes"])


def test_the_same_seed_makes_the_same_tree(tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*RUN, "--store", str(tmp_path / "again")]) == 0
    _, first, _ = asked(capsys, "tree", "--store", store)
    _, second, _ = asked(capsys, "tree", "--store", tmp_path / "again")
    assert first["nodes"] == second["nodes"]


def test_a_run_for_people_ends_with_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*RUN, "--store", str(tmp_path / "s")]) == 0
    text = capsys.readouterr().out
    assert "as fast" in text
    for word in (
        "sealed shapes",
        "over torch.compile",
        "kernel ",
        "report ",
        "holds for",
        "compared calls",
        "isolation",
    ):
        assert word in text


def test_resuming_a_finished_campaign_sums_it_up_again(store: Path, capsys: pytest.CaptureFixture[str]):
    code, data, _ = asked(capsys, "resume", "--store", store)
    assert code == 0
    assert data["schema"] == "kernelevolve.resume/1"
    assert data["status"] == "improved"


def test_evaluate_rejects_with_exit_code_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    seen = set()
    for number in range(60):
        path = tmp_path / f"k{number}.fake"
        path.write_text(f"map_id\nvalue = {number}\n")
        code, data, _ = asked(capsys, "evaluate", "map_id", path, "--platform", "fake")
        assert code == (0 if data["correct"] else 3)
        assert set(data) == {"schema", "task", "task_id", "candidate_id", "correct", "verdict"}
        assert data["verdict"]["timing"] is None or data["verdict"]["timing"]["level"] == "confirm"
        seen.add(code)
        if seen == {0, 3}:
            break
    assert seen == {0, 3}


@pytest.mark.parametrize(
    ("words", "code", "needle"),
    [
        (("run", "no_such_task"), 2, "unknown task 'no_such_task'"),
        (("run", "map_id", "--platform", "abacus"), 2, "unknown platform 'abacus'"),
        (("run", "map_id", "--platform", "fake", "--policy", "wish"), 2, "unknown policy 'wish'"),
        (("run", "map_id", "--platform", "fake", "--proposer", "oracle"), 2, "unknown proposer 'oracle'"),
        (("run",), 2, "Missing argument"),
        (("run", "map_id", "--max-candidates", "0"), 2, "--max-candidates"),
        (("frobnicate",), 2, "frobnicate"),
        (("task", "frobnicate"), 2, "frobnicate"),
        (("evaluate", "map_id", "nowhere.cpp", "--platform", "fake"), 2, "nowhere.cpp"),
        (("tree", "--store", "/nonexistent/store"), 2, "there is no store at"),
        (("export", "a", "b", "c"), 2, "there is no store at"),
        (("export", "a", "b", "c", "--step", "3"), 2, "--step chooses a candidate of one campaign"),
    ],
)
def test_errors_are_one_line_and_an_exit_code(
    words: tuple[str, ...], code: int, needle: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    monkeypatch.setenv("KERNELEVOLVE_STORE", str(tmp_path / "store"))
    found, data, stderr = asked(capsys, *words)
    assert found == code
    assert needle in data["error"]["message"]
    assert data["error"]["exit_code"] == code
    assert data["schema"].startswith("kernelevolve.")
    assert stderr.startswith("error: ")
    assert len(stderr.splitlines()) == 1


@pytest.mark.parametrize(("words", "needle"), [(("nope",), "no campaign|nope"), (("latest", "99"), "no step 99")])
def test_unknown_campaigns_and_steps_are_usage_errors(
    words: tuple[str, ...], needle: str, store: Path, capsys: pytest.CaptureFixture[str]
):
    command = "diff" if len(words) > 1 else "tree"
    code, data, _ = asked(capsys, command, *words, "--store", store)
    assert code == 2
    assert any(part in data["error"]["message"] for part in needle.split("|"))


def test_a_damaged_store_is_the_machines_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "kernelevolve.db").write_text("this is no database" * 100)
    code, data, stderr = asked(capsys, "tree", "--store", tmp_path)
    assert code == 4
    assert data["error"]["exit_code"] == 4
    assert len(stderr.splitlines()) == 1


def test_what_nobody_expected_gives_a_line_and_a_kept_traceback(capsys: pytest.CaptureFixture[str]):
    def broken() -> int:
        raise ZeroDivisionError("two\nlines \x1b[31m")

    assert guarded(broken, ["--json"], command="tree") == 4
    captured = capsys.readouterr()
    assert captured.err.startswith("error: internal: ZeroDivisionError: two lines")
    assert len(captured.err.splitlines()) == 1
    assert "\x1b" not in captured.err
    assert json.loads(captured.out)["schema"] == "kernelevolve.tree/1"
    kept = Path(captured.err.split("traceback in ")[1].split(";")[0])
    assert "ZeroDivisionError" in kept.read_text()
    kept.unlink()
    assert guarded(broken, ["--debug"], command="tree") == 4
    assert "Traceback" in capsys.readouterr().err


def test_only_kernels_with_code_of_their_own_are_exported(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    code, data, _ = asked(capsys, "export", tmp_path / "out", "--store", store)
    assert code == 2
    assert "has no machine code to export" in data["error"]["message"]


def test_hostile_text_reaches_the_terminal_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "store"
    opened = open_store(folder)
    campaign_id = opened.open_campaign(events(1, hostile=True)[0])  # type: ignore[arg-type]
    opened.append(campaign_id, events(25, hostile=True)[1:])
    for words in (("tree", "--all"), ("diff", "latest", "8"), ("campaign", "show")):
        assert main([*words, "--store", str(folder)]) == 0
        text = capsys.readouterr().out
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "[bold red]" in "\n".join(line.plain for line in tree_lines(load_record(opened, "latest"), True))
    assert HOSTILE.startswith("</script>")
    assert write_results(load_record(opened, "latest"), tmp_path / "r").report.exists()


def test_the_tree_counts_what_it_does_not_list():
    found = record(500)
    short, whole = tree_lines(found, False), tree_lines(found, True)
    assert len(whole) == 501
    assert len(short) < 250
    assert max(len(line.plain) for line in short) < 200
    assert sum("the winner" in line.plain for line in short) == 1
    assert any("build failed" in line.plain for line in short)


def test_help_is_quick_and_loads_nothing_heavy():
    code = "import sys; from kernelevolve.interfaces.cli.main import main; main(['--help']); print(sorted(sys.modules))"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = finished.stdout.rsplit("\n", 2)[-2]
    for heavy in ("torch", "numpy", "sqlalchemy", "pydantic", "jinja2"):
        assert f"'{heavy}'" not in loaded


def test_a_fake_run_never_loads_torch():
    code = (
        "import sys, tempfile; from kernelevolve.interfaces.cli.main import main\n"
        f"code = main([*{RUN!r}, '--store', tempfile.mkdtemp(), '--json'])\n"
        "sys.exit(code or ('torch' in sys.modules) or ('numpy' in sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


HEARS_INTERRUPTS = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from kernelevolve.interfaces.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
"""A test run started in the background inherits an ignored SIGINT, and so would the process under test."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on_and_does(
    number: signal.Signals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    store = str(tmp_path / "store")
    words = ["run", "map_id", "--platform", "fake", "--max-candidates", "2000", "--threads", "1", "--store", store]
    process = subprocess.Popen(
        [sys.executable, "-c", HEARS_INTERRUPTS, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, PYTHONUNBUFFERED="1"),
    )  # fmt: skip
    assert process.stdout is not None
    deadline = time.monotonic() + 60
    while "correct" not in process.stdout.readline():
        assert time.monotonic() < deadline
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert "kernelevolve resume map_id-" in stderr
    code, data, _ = asked(capsys, "tree", "--store", store)
    assert code == 0
    assert len(data["nodes"]) > 0


def test_the_defaults_of_run_are_those_of_a_campaign():
    parameters = inspect.signature(run_command).parameters
    settings = Settings()
    assert parameters["policy"].default == settings.policy
    assert parameters["seed"].default == settings.seed
    assert parameters["max_candidates"].default == settings.max_candidates
    assert parameters["max_seconds"].default == settings.max_seconds
    assert parameters["drafts"].default == settings.n_drafts
