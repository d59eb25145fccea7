"""KernelBench's known void problems, restated at reduced size, are refused; clean ones are admitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.errors import TaskError
from kernelevolve.evaluation.admission import admit
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.tasks import load_task

PROBLEMS = Path(__file__).parent / "kernelbench"
VOID = sorted((PROBLEMS / "void").glob("l*.py"))
CLEAN = sorted((PROBLEMS / "clean").glob("l*.py"))


def reasons(path: Path, folder: Path, *, as_shipped: bool) -> tuple[str, ...]:
    """Why it is refused; nothing when it is admitted."""
    try:
        task = load_task(str(path), as_shipped=as_shipped)
    except TaskError as error:
        return error.faults
    return admit(TaskModule(task, folder), secret="tests").void


def test_all_sixteen_are_there() -> None:
    assert len(VOID) == 16
    assert len(CLEAN) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("path", VOID, ids=lambda path: path.stem)
def test_a_void_problem_is_refused_as_shipped(path: Path, tmp_path: Path) -> None:
    """PE2: among them level 2's 23, 80 and 83, before any search."""
    assert reasons(path, tmp_path, as_shipped=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_a_clean_problem_is_admitted(path: Path, tmp_path: Path) -> None:
    assert reasons(path, tmp_path, as_shipped=False) == ()


def test_two_problems_in_one_process_do_not_mix(tmp_path: Path) -> None:
    """Both bring a helper file of the same name; the second must not get the first one's."""
    modules = [
        TaskModule(load_task(str(path)), tmp_path / path.stem)
        for path in (PROBLEMS / "clean" / "l1_21_sigmoid.py", PROBLEMS / "clean" / "l1_25_swish.py")
    ]
    outputs = [module.expected(module.make_inputs({}, seed=1), {}) for module in modules]
    assert not all(a.shape == b.shape and bool((a == b).all()) for a, b in zip(*map(dict.values, outputs), strict=True))
