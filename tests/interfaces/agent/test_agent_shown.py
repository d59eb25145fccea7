"""What is shown of verdicts and diagnoses: nothing that tells a hidden size, and no way to ask for one."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.diagnosis.explain import explain
from kernelevolve.interfaces.agent.reference import shown_reference
from kernelevolve.interfaces.agent.shown import Shown, claim
from kernelevolve.model.events import Closed, Sealed
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import CompileMessage, Mismatch, Outcome, Stage, Verdict
from kernelevolve.search.tree import Tree
from kernelevolve.tasks import builtin_names, load_task
from kernelevolve.testing.samples import (
    sample_candidate,
    sample_judged,
    sample_opened,
    sample_proposed,
    sample_task,
    sample_verdict,
)

TASK = sample_task()
EYES = Shown(TASK)


def failed(outcome: Outcome, stage: Stage, message: str, mismatch: Mismatch | None = None) -> Verdict:
    return Verdict(
        task_id=TASK.content_id, candidate_id=sample_candidate().id, outcome=outcome, stage=stage, message=message,
        mismatch=mismatch, output="N is 4099", compile_messages=(CompileMessage(file="k.cpp", message="N=4099"),),
    )  # fmt: skip


@pytest.mark.parametrize(
    "message",
    ["wrong at N=4099", "wrong at {'N': 7013}", "N = 4099 took 12.5 ms", "4099 of 4099 elements differ", "code 4,099",
     "a call of N=4099 moved 32792 bytes"],
)  # fmt: skip
def test_a_message_about_a_run_has_no_hidden_size_and_no_time(message: str) -> None:
    text = json.dumps(EYES.verdict(failed(Outcome.REFUSED, Stage.CHECK, message)))
    for secret in ("4099", "7013", "4,099", "32792", "12.5"):
        assert secret not in text


def test_a_shown_shape_may_be_named() -> None:
    assert "a shown shape" in EYES.told("crashed at N=100")


@given(st.sets(st.integers(2, 9999), min_size=1, max_size=200))
def test_a_compilers_message_cannot_be_used_to_ask_which_sizes_are_hidden(numbers: set[int]) -> None:
    """Whatever an agent writes into an #error line comes back as it was, hidden sizes and others alike."""
    line = " ".join(f"N={number}" for number in sorted(numbers))[:2000]
    verdict = failed(Outcome.BUILD_FAILED, Stage.BUILD, line)
    shown = EYES.verdict(verdict.model_copy(update={"compile_messages": (CompileMessage(file="k", message=line),)}))
    assert shown["message"] == line
    assert shown["compile_messages"][0]["message"] == line


@given(st.lists(st.integers(100, 99999), min_size=1, max_size=30))
def test_a_runs_message_cannot_be_used_either(numbers: list[int]) -> None:
    told = EYES.told(" ".join(map(str, numbers)))
    assert told == EYES.told(" ".join("12345" for _ in numbers))


def test_wrong_values_are_told_at_shown_shapes_only() -> None:
    """A candidate writes what it likes into its output, such as the sizes it was called with."""
    hidden = Mismatch(tensor="out", shape={"N": 4099}, n_wrong=1366, n_total=4099, got="4099.0", expected="2.0")
    text = json.dumps(EYES.verdict(failed(Outcome.WRONG, Stage.CHECK, "out differs, got 4099.0", hidden)))
    assert "4099" not in text
    assert "1366" not in text
    assert "0.3" in text
    known = hidden.model_copy(update={"shape": {"N": 100}, "got": "7.5"})
    assert "7.5" in json.dumps(EYES.verdict(failed(Outcome.WRONG, Stage.CHECK, "out differs", known)))


def test_a_timing_is_a_speedup_and_its_interval() -> None:
    shown = EYES.verdict(sample_verdict(sample_candidate(), speedup=2.0))
    assert set(shown["timing"]) == {"level", "speedup", "low", "high", "wins", "n_shapes"}
    assert "4099" not in json.dumps(shown)


def test_a_diagnosis_keeps_ratios_only() -> None:
    facts = PlatformFacts(name="cpu", kind="cpu", l3_bytes=2**25, copy_gb_per_s=40.0, cached_copy_gb_per_s=100.0)
    for speedup in (1.1, 50.0):
        found = explain(sample_verdict(sample_candidate(), speedup=speedup), facts)
        assert found is not None
        shown = EYES.diagnosis(found)
        assert {item["unit"] for item in shown["evidence"]} <= {"1", "x", "%"}
        assert re.search(r"4099|32792|latency_us|\d us", json.dumps(shown)) is None


def test_of_the_sealed_shapes_only_the_result_is_told() -> None:
    verdict = failed(Outcome.CRASHED, Stage.CHECK, "killed by SIGSEGV at N=7013")
    tree = Tree([sample_opened(), sample_proposed(1), sample_judged(1)])
    tree.append(Sealed(step=1, verdict=verdict, elapsed_s=2.0))
    tree.append(Closed(winner=None, reason="step 1 failed on the sealed shapes (crashed)", elapsed_s=3.0))
    told = claim(tree)
    assert told["sealed"] == {"step": 1, "correct": False, "outcome": "crashed", "timing": None}
    assert "7013" not in json.dumps(told)


@pytest.mark.parametrize("name", builtin_names())
def test_every_builtin_task_has_a_reference_to_show_and_no_oracle_in_it(name: str) -> None:
    try:
        task = load_task(name)
    except Exception:  # noqa: BLE001 - not for this platform
        pytest.skip("not a CPU task")
    shown = shown_reference(task)
    assert "def reference" in shown
    for word in ("def make_inputs", "def oracle", "VARIANTS ="):
        assert word not in shown


@given(st.text(max_size=200))
def test_no_source_breaks_the_reading_of_a_reference(text: str) -> None:
    task: Task = TASK.model_copy(update={"files": (SourceFile(path="reference.py", text=text),)})
    assert isinstance(shown_reference(task), str)
