"""The process a module is compiled in: what it answers, what it cannot see, also without Landlock."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernelevolve.errors import MachineError
from kernelevolve.toolchains.confined import Reply, ask, run_confined

EMITTER = """\
def prepare(request):
    return request["word"]


def emit(state, modules, launch):
    return {"said": state + launch + str(modules["kernel"].NUMBER)}, b"blob" * 3
"""


def reply(folder: Path, code: str, *, bare_root: bool = False) -> Reply:
    (folder / "emitter.py").write_text(EMITTER)
    files = [{"path": "kernel.py", "text": code}, {"path": "part.py", "text": "NUMBER = 7\n"}]
    request = {"emitter": str(folder / "emitter.py"), "files": files, "launches": ["one", "two"], "word": "-"}
    return ask(Path(sys.executable), request, folder=folder, timeout_s=20.0, environment={}, bare_root=bare_root)


@pytest.mark.parametrize("bare_root", [False, True])
def test_the_answer_is_numbers_and_blobs(tmp_path: Path, bare_root: bool) -> None:
    found = reply(tmp_path, "from part import NUMBER\n", bare_root=bare_root)
    assert found.fault == "", found
    assert found.header["facts"] == [{"said": "-one7"}, {"said": "-two7"}]
    assert found.blobs == (b"blob" * 3, b"blob" * 3)
    assert "rlimits" in found.isolation


def test_a_bare_root_has_the_interpreter_and_nothing_of_the_user(tmp_path: Path) -> None:
    code = (
        f"import colorsys, os\nNUMBER = 1\nprint(os.path.exists({str(tmp_path)!r}), 'passwd' in os.listdir('/etc'))\n"
    )
    found = reply(tmp_path, code, bare_root=True)
    if "bare-root" not in found.isolation:
        pytest.skip("mounting is not allowed here")
    assert (found.fault, found.log) == ("", "False False\n")


def test_an_exception_names_the_innermost_line_of_the_module(tmp_path: Path) -> None:
    found = reply(tmp_path, "def f():\n    return {}[3]\n\nf()\n")
    assert found.header["error"] == {"message": "KeyError: 3", "file": "kernel.py", "line": 2}
    found = reply(tmp_path, "NUMBER = (\n")
    assert (found.header["error"]["file"], found.header["error"]["line"]) == ("kernel.py", 1)


def test_what_fails_before_the_candidate_ran_is_the_machines_fault(tmp_path: Path) -> None:
    request = {"emitter": str(tmp_path / "emitter.py"), "files": [], "launches": []}
    (tmp_path / "emitter.py").write_text("import no_such_compiler\n")
    with pytest.raises(MachineError, match="no_such_compiler"):
        ask(Path(sys.executable), request, folder=tmp_path, timeout_s=20.0, environment={})


def test_a_thread_that_is_there_before_the_walls_is_the_machines_fault(tmp_path: Path) -> None:
    """It would keep its rights, and what is compiled could use it."""
    begun = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    request = {"emitter": str(tmp_path / "emitter.py"), "files": [], "launches": []}
    (tmp_path / "emitter.py").write_text(EMITTER.replace('    return request["word"]', "    return 0") + begun)
    with pytest.raises(MachineError, match="1 other threads run already"):
        ask(Path(sys.executable), request, folder=tmp_path, timeout_s=20.0, environment={})


def test_no_thread_is_there_before_the_walls_where_numpy_is_loaded_first(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    (tmp_path / "emitter.py").write_text("import numpy\n" + EMITTER.replace('request["word"]', '"-"'))
    request = {"emitter": str(tmp_path / "emitter.py"), "files": [], "launches": []}
    assert ask(Path(sys.executable), request, folder=tmp_path, timeout_s=20.0, environment={}).fault == ""


def test_the_environment_stays_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_WORD", "told")
    found = reply(tmp_path, "import os\nNUMBER = 1\nprint(sorted(os.environ))\n")
    assert "SECRET_WORD" not in found.log
    assert "PATH" in found.log


def test_a_tool_reads_its_folder_and_writes_nowhere_else(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    (inside / "a").write_text("content")
    outside.write_text("other")
    assert run_confined(["/bin/cp", "a", "b"], folder=inside, timeout_s=20).returncode == 0
    assert (inside / "b").read_text() == "content"
    landlock = run_confined(["/bin/cp", str(outside), "c"], folder=inside, timeout_s=20)
    if landlock.returncode == 0:
        pytest.skip("this kernel has no Landlock")
    assert "Permission denied" in landlock.text
    assert run_confined(["/bin/cp", "a", str(tmp_path / "d")], folder=inside, timeout_s=20).returncode != 0
    assert not (tmp_path / "d").exists()
