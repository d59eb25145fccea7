"""A winner that is a Python module, alone and beside a compiled one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from package_samples import CPP, campaign, imported

from kernelevolve.interfaces.export.write import export_package

ROWS = """\
def total(x):
    return x.sum(1)
"""
KERNEL = """\
import torch
from rows import total


def row_mix(x, state, shift, factor, out, R, C):
    if C == 13:
        raise ValueError("not thirteen")
    state.add_(total(x))
    torch.mul(x, factor, out=out)
    out.add_(shift).add_(total(x).unsqueeze(1))
"""
SEVERAL = {"kernel.py": KERNEL, "rows.py": ROWS}


def given(rows: int, columns: int) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(rows + columns)
    return torch.randn(rows, columns, generator=generator), torch.randn(rows, generator=generator), 3, 0.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("python") / "row_mix"
    export_package([campaign("C=64", python=SEVERAL), campaign("", cpp=CPP)], found)
    return found


def test_its_own_check_passes_where_kernelevolve_is_not(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(folder / "test_row_mix.py")], capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    assert "right: the kernel equals the reference" in done.stdout


def test_python_and_machine_code_serve_side_by_side(folder: Path) -> None:
    package = imported(folder)
    for columns, key in ((64, "C64"), (65, "any")):
        mine, other = given(7, columns), given(7, columns)
        torch.testing.assert_close(
            package.row_mix(*mine), package.OPERATOR.by_reference(other, ()), rtol=1e-5, atol=1e-4
        )
        torch.testing.assert_close(mine[1], other[1], rtol=1e-5, atol=1e-4)
        assert package.last_served() == key
    assert (folder / "kernels" / "C64" / "kernel" / "rows.py").exists()
    assert "runs in your process" in (folder / "README.md").read_text()


def test_the_names_of_its_files_stay_other_peoples(folder: Path) -> None:
    """Two packages may each have a file `rows.py`, and so may whoever uses them."""
    package = imported(folder)
    package.row_mix(*given(7, 64))
    assert package.last_served() == "C64"
    assert "rows" not in sys.modules
    assert "kernel" not in sys.modules


def test_one_that_raises_after_it_may_have_written_is_not_covered_up(tmp_path: Path) -> None:
    alone = KERNEL.replace("from rows import total", ROWS)
    export_package([campaign("", python={"kernel.py": alone})], tmp_path / "p")
    package = imported(tmp_path / "p")
    with pytest.raises(ValueError, match="not thirteen"):
        package.row_mix(*given(7, 13))


def test_one_that_does_not_load_leaves_the_call_to_the_reference(tmp_path: Path) -> None:
    export_package(
        [campaign("", python={"kernel.py": "import a_module_nobody_has\ndef row_mix(): ...\n"})], tmp_path / "p"
    )
    package = imported(tmp_path / "p")
    package.row_mix(*given(7, 8))
    assert package.last_served() == "reference"
    assert "a_module_nobody_has" in package.last_path()


def test_a_tensor_it_was_not_promised_goes_to_the_reference(folder: Path) -> None:
    package = imported(folder)
    x, state, shift, factor = given(7, 64)
    odd = torch.empty(x.numel() + 1)[1:].view(7, 64).copy_(x)
    package.row_mix(odd, state, shift, factor)
    assert package.last_served() == "reference"
    assert "not aligned" in package.last_path()
