"""Admission: every flaw makes a task void, every honest task is admitted, and the table says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.evaluation.admission import admit
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.admission import Admission
from kernelevolve.selftest.corpus import attacks, default_root
from kernelevolve.tasks import load_task

ROOT = default_root()
VOID = [entry for entry in attacks(ROOT) if entry.caught == ("void",)]
SHARED = sorted(path.name for path in (ROOT / "attacks" / "tasks").iterdir() if (path / "task.toml").exists())


def table(task: str, folder: Path, secret: str = "s") -> Admission:
    return admit(TaskModule(load_task(task), folder), secret=secret)


def test_the_corpus_has_many_flawed_tasks() -> None:
    assert len(VOID) >= 25


@pytest.mark.parametrize("entry", VOID, ids=lambda entry: entry.name)
def test_a_flawed_task_is_refused(entry: object, tmp_path: Path) -> None:
    found = table(str(entry.task_folder), tmp_path)  # type: ignore[attr-defined]
    assert found.void
    assert all(word in " ".join(found.void) for word in ("passes",)) or "refused" in " ".join(found.void)


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("secret", ["one", "two"])
def test_a_sound_task_is_admitted_whatever_the_draws(name: str, secret: str, tmp_path: Path) -> None:
    found = table(str(ROOT / "attacks" / "tasks" / name), tmp_path, secret)
    assert found.void == ()
    fakes = [control for control in found.controls if control.kind == "fake"]
    assert len(fakes) >= 5
    assert all(control.tried for control in found.controls)


def test_what_algebra_allows_is_told_from_what_the_inputs_hide(tmp_path: Path) -> None:
    """An unneeded stage is reducible; one that only the drawn inputs make unneeded voids the task."""
    source = """# /// task
# schema_version = 1
# name = "{name}"
# entry = "{name}"
# [axes]
# N = {{ low = 1, high = 100000 }}
# [[inputs]]
# name = "x"
# dtype = "float"
# dims = ["N"]
# [[outputs]]
# name = "y"
# dtype = "float"
# dims = ["N"]
# [rule]
# kind = "scaled"
# rtol = 1e-6
# rms = 1e-6
# [platforms.cpu]
# dtype = "float32"
# shapes.shown = [{{ N = 1000 }}]
# shapes.search = [{{ N = 1013 }}]
# shapes.sealed = [{{ N = 1021 }}]
# ///
import torch
SCALES = ()


def make_inputs(sizes, rng, variant):
    return {{"x": {inputs}}}


def reference(x):
    return {body}
"""
    for name, inputs, body, void in (
        ("twice_negated", 'torch.randn(sizes["N"], generator=rng)', "torch.neg(torch.neg(x)) * 3 + 1", False),
        ("needless_abs", 'torch.rand(sizes["N"], generator=rng)', "torch.abs(x) * 3 + 1", True),
    ):
        file = tmp_path / f"{name}.py"
        file.write_text(source.format(name=name, inputs=inputs, body=body))
        found = table(str(file), tmp_path / name)
        assert bool(found.void) is void, found.void
