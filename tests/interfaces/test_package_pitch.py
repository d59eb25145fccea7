"""A package whose tensors may lie apart: views of longer rows are served, what lies between is nobody's to touch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from package_samples import PITCHED_CPP, PITCHED_TASK, campaign, imported
from torch._subclasses import FakeTensorMode

from kernelevolve.interfaces.export.write import export_package


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pitched") / "row_mix"
    export_package([campaign(where, task=PITCHED_TASK, cpp=PITCHED_CPP) for where in ("", "C=64")], found)
    return found


@pytest.fixture(scope="module")
def package(folder: Path) -> ModuleType:
    return imported(folder)


def inputs(rows: int, columns: int, *, x_pitch: int = 0, state_pitch: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Views into buffers full of NaN."""
    generator = torch.Generator().manual_seed(rows + columns)
    pool = torch.full((rows, x_pitch or columns), float("nan"))
    x = pool[:, :columns].copy_(torch.randn(rows, columns, generator=generator))
    state = torch.full((rows, state_pitch), float("nan"))[:, 0]
    return x, state.copy_(torch.randn(rows, generator=generator))


def right(package: ModuleType, x: torch.Tensor, state: torch.Tensor) -> None:
    kept = state.clone()
    wanted = package.OPERATOR.by_reference((x.clone(), kept, 3, 0.5), ())
    torch.testing.assert_close(package.row_mix(x, state, 3, 0.5), wanted, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(state, kept, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("x_pitch", "state_pitch"), [(0, 1), (104, 1), (0, 7), (4096, 3)])
def test_rows_that_lie_apart_are_served(package: ModuleType, x_pitch: int, state_pitch: int) -> None:
    x, state = inputs(8, 100, x_pitch=x_pitch, state_pitch=state_pitch)
    right(package, x, state)
    assert package.last_path() == "kernel"
    assert package.last_served() == "any"
    held = torch.as_strided(state, (8 * state_pitch,), (1,)).view(8, state_pitch)
    assert bool(held[:, 1:].isnan().all()), "a gap was written"
    right(package, *inputs(8, 64, x_pitch=128))
    assert package.last_served() == "C64"


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (torch.randn(100, 8).t(), "x is not contiguous behind its first dimension"),
        (torch.randn(8, 200)[:, ::2], "x is not contiguous behind its first dimension"),
        (
            torch.randn(8, 102)[:, :100],
            "rows of x are 102 elements apart; XP is 100, or 0..4096 above it, multiple of 4",
        ),
        (torch.randn(100).expand(8, 100), "rows of x are 0 elements apart"),
        (torch.randn(8, 5000)[:, :100], "rows of x are 5000 elements apart"),
        (torch.randn(8, 104)[:, 1:101], "x is not aligned to 64 bytes"),
        (torch.randn(8, 104).double()[:, :100], "x is float64"),
    ],
)
def test_other_layouts_go_to_the_reference_with_the_reason(package: ModuleType, x: torch.Tensor, reason: str) -> None:
    _, state = inputs(8, 100)
    package.row_mix(x, state, 3, 0.5)
    assert package.last_path().startswith(f"reference: {reason}")


def test_of_one_row_any_stride_will_do(package: ModuleType) -> None:
    for x in (torch.randn(1, 102)[:, :100], torch.randn(1, 104)[:, :100], torch.randn(1, 100), torch.randn(0, 100)):
        right(package, x, torch.randn(x.shape[0]))
        assert package.last_path() == "kernel", (x.shape, x.stride())


def test_the_pitch_is_part_of_what_a_plan_is_remembered_by(package: ModuleType) -> None:
    for pitch in (100, 104, 108, 104, 100):
        right(package, *inputs(8, 100, x_pitch=pitch))
        assert package.last_path() == "kernel"


def test_what_lies_in_each_others_gaps_counts_as_shared(package: ModuleType) -> None:
    pool = torch.randn(8, 128)
    package.row_mix(pool[:, :100], pool[:, 112], 3, 0.5)
    assert package.last_path() == "reference: state and x share memory"


def test_compiled_code_updates_a_view_in_place(package: ModuleType) -> None:
    def step(x: torch.Tensor, state: torch.Tensor) -> Any:
        return package.row_mix(x, state, 3, 0.5).relu()

    torch._dynamo.reset()
    x, state = inputs(8, 100, x_pitch=104, state_pitch=5)
    kept = state.clone()
    wanted = package.OPERATOR.by_reference((x.clone(), kept, 3, 0.5), ()).relu()
    made = torch.compile(step, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(made(x, state), wanted, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(state, kept, rtol=1e-5, atol=1e-4)
    assert package.last_path() == "kernel"


def test_stand_ins_have_the_right_shape(package: ModuleType) -> None:
    x, state = inputs(8, 100, x_pitch=104, state_pitch=5)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        out = package.row_mix(mode.from_tensor(x), mode.from_tensor(state), 3, 0.5)
    assert out.shape == (8, 100)
    assert out.is_contiguous()


def test_the_package_checks_itself_with_gaps_and_says_so(folder: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "test_row_mix.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "test_rows_that_lie_apart_are_served_and_what_is_between_stays" in (folder / "test_row_mix.py").read_text()
    page = (folder / "README.md").read_text()
    assert "`x` may be a view whose rows lie apart: `x.stride(0)` is the row's own length, or a multiple of 4" in page
    assert "XP = a row of x, or a multiple of 4 above it" in page


def test_its_own_check_finds_a_kernel_that_writes_between_rows(tmp_path: Path) -> None:
    source = PITCHED_CPP.replace("    return 0;", "    if (SP > 1 && R > 0) state[1] = 0;\n    return 0;")
    export_package([campaign(task=PITCHED_TASK, cpp=source)], tmp_path / "p")
    finished = subprocess.run(
        [sys.executable, "test_row_mix.py"], cwd=tmp_path / "p", capture_output=True, text=True, check=False
    )
    assert finished.returncode != 0
    assert "what lies between the rows of state was written" in finished.stderr
