"""toolchain list, build, and the language of .py files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelevolve.errors import UsageError
from kernelevolve.interfaces.cli.candidates import read_candidate
from kernelevolve.interfaces.cli.main import main
from kernelevolve.tasks import load_task
from kernelevolve.toolchains import TOOLCHAINS
from kernelevolve.toolchains.nvrtc import find_nvrtc
from kernelevolve.toolchains.shipped import find

KERNEL = """\
extern "C" __global__ void sum(const float* x, float* y, long long C) {
    float total = 0;
    for (long long c = 0; c < C; ++c) total += x[blockIdx.x * C + c];
    y[blockIdx.x] = total;
}
"""
PLAN = '[[launch]]\nkernel = "sum"\ngrid = ["R", "1", "1"]\nargs = ["x", "y", "C"]\n'
TASK = str(Path(__file__).parents[1] / "attacks" / "tasks" / "row_sum")


def test_every_language_is_listed_with_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["toolchain", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["toolchains"]
    assert [row["language"] for row in rows] == list(TOOLCHAINS)
    assert all(row["ready"] is (row["problem"] == "") for row in rows)
    host = {row["language"]: row["platforms"] for row in rows if row["lane"] == "host"}
    assert host == {"python": ["cpu", "cuda"]}
    assert {row["language"] for row in rows if not row["platforms"]} == {"fake"}, "anywhere"
    assert main(["toolchain", "list"]) == 0
    assert "triton" in capsys.readouterr().out


def test_a_module_is_not_built_ahead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kernel.py").write_text("def row_sum(x, y, R, C):\n    y.copy_(x.sum(1))\n")
    assert main(["build", TASK, str(tmp_path / "kernel.py"), "--out", str(tmp_path / "out")]) == 3
    assert "python has no device code to compile ahead; for device code in .py say" in capsys.readouterr().out


def test_what_cannot_be_installed_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["toolchain", "install", "unheard"]) == 2
    assert "unknown environment 'unheard'" in capsys.readouterr().err


def test_py_files_with_a_plan_need_their_language(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("import triton\n")
    (tmp_path / "part.py").write_text("\n")
    (tmp_path / "launch.toml").write_text(PLAN)
    with pytest.raises(UsageError, match="say --language"):
        read_candidate(tmp_path)
    found = read_candidate(tmp_path, language="triton")
    assert (found.language, [file.path for file in found.files]) == ("triton", ["kernel.py", "part.py", "launch.toml"])
    alone = read_candidate(tmp_path / "kernel.py", language="gluon")
    assert (alone.language, [file.path for file in alone.files]) == ("gluon", ["kernel.py", "launch.toml"])
    assert [file.path for file in read_candidate(tmp_path / "kernel.py").files] == ["kernel.py"]
    with pytest.raises(UsageError, match="unknown language"):
        read_candidate(tmp_path, language="unheard")


@pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
def test_what_is_built_here_is_found_by_its_content(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "mine", tmp_path / "out"
    source.mkdir()
    (source / "kernel.cu").write_text(KERNEL)
    (source / "launch.toml").write_text(PLAN)
    assert main(["build", TASK, str(source), "--out", str(out), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["built"]
    record = Path(row["record"])
    architecture = record.parent.name
    monkeypatch.setenv("KERNELEVOLVE_ARTIFACTS", str(out))
    task = load_task(TASK, platform="cuda")
    assert find(tmp_path, "cuda", architecture, task, read_candidate(source)) is not None
    (source / "kernel.cu").write_text(KERNEL.replace("total;", "2 * total;"))
    assert find(tmp_path, "cuda", architecture, task, read_candidate(source)) is None


@pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
@pytest.mark.parametrize(
    ("kernel", "words"),
    [(KERNEL.replace("total;", "nowhere;"), "kernel.cu:4: error"), ("#include </etc/x>", "outside the candidate")],
)
def test_what_does_not_compile_is_said_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kernel: str, words: str
) -> None:
    (tmp_path / "kernel.cu").write_text(kernel)
    (tmp_path / "launch.toml").write_text(PLAN)
    assert main(["build", TASK, str(tmp_path / "kernel.cu"), "--out", str(tmp_path / "out")]) == 3
    assert words in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
