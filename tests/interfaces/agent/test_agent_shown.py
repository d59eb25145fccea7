"""What is shown of verdicts and diagnoses: nothing that tells a hidden size, and no way to ask for one."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.diagnosis.explain import explain
from kernelevolve.interfaces.agent.reference import shown_reference
from kernelevolve.interfaces.agent.shown import Shown
from kernelevolve.interfaces.agent.shown_tree import best, claim
from kernelevolve.model.events import Closed, Sealed
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import BUSY, CompileMessage, Mismatch, Outcome, Stage, StageReport, Verdict
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
    assert set(shown["timing"]) == {
        "level", "speedup", "low", "high", "wins", "wins_when", "n_shapes", "n_shapes_faster", "baselines",
    }  # fmt: skip
    assert shown["timing"]["baselines"] == ["PyTorch eager"]
    assert "4099" not in json.dumps(shown)


def test_a_diagnosis_keeps_ratios_only() -> None:
    facts = PlatformFacts(name="cpu", kind="cpu", l3_bytes=2**25, copy_gb_per_s=40.0, cached_copy_gb_per_s=100.0)
    for speedup in (1.1, 50.0):
        found = explain(sample_verdict(sample_candidate(), speedup=speedup), facts)
        assert found is not None
        shown = EYES.diagnosis(found)
        assert {item["unit"] for item in shown["evidence"]} <= {"ratio", "times", "%"}
        assert {item.get("at") for item in shown["evidence"]} == {"hidden shape 1"}
        assert not any(value is None for item in shown["evidence"] for value in item.values())
        assert re.search(r"4099|32792|latency_us|\d us", json.dumps(shown)) is None


def test_of_the_sealed_shapes_only_the_result_is_told() -> None:
    verdict = failed(Outcome.CRASHED, Stage.CHECK, "killed by SIGSEGV at N=7013")
    tree = Tree([sample_opened(), sample_proposed(1), sample_judged(1)])
    tree.append(Sealed(step=1, verdict=verdict, elapsed_s=2.0))
    tree.append(Closed(winner=None, reason="step 1 failed on the sealed shapes (crashed)", elapsed_s=3.0))
    told = claim(tree)
    assert told["sealed"] == {"step": 1, "correct": False, "outcome": "crashed", "timing": None}
    assert "7013" not in json.dumps(told)


def test_figures_of_our_own_diagnosis_survive() -> None:
    """No placeholder stands in the place of a ratio, and no size or time is let through beside it."""
    told = EYES.figures("N=4099 takes 312.4x its memory floor, 41.26x elsewhere, 1234.5x at N=100, in 17.5 us of 4099")
    assert told == (
        "a shape that is not shown takes over 100x its memory floor, 41x elsewhere, over 1000x at a shown shape, in "
        "(a time) of (number)"
    )


@given(st.text(alphabet="N=0123456789 .,x", max_size=60))
def test_no_whole_size_comes_through_as_a_figure(text: str) -> None:
    assert re.search(r"\d{3}", re.sub(r"over 10+x", "", EYES.figures(text))) is None


def test_what_is_missing_for_a_win_is_named() -> None:
    noisy = sample_verdict(sample_candidate(), speedup=2.47, spread=0.7)
    assert noisy.timing is not None
    shown = EYES.verdict(noisy)["timing"]
    assert (shown["wins"], "too noisy to prove" in shown["missing_for_a_win"]) == (False, True)
    one = noisy.timing.shapes[0]
    low = one.model_copy(update={"comparisons": (one.comparisons[0].model_copy(update={"low": 0.9}),)})
    uneven = noisy.model_copy(
        update={"timing": noisy.timing.model_copy(update={"low": 1.4, "shapes": (low, low, one)})}
    )
    shown = EYES.verdict(uneven)["timing"]
    assert shown["missing_for_a_win"].startswith("its own interval is above 1 on 0 of 3 shapes")
    assert "missing_for_a_win" not in EYES.verdict(sample_verdict(sample_candidate(), speedup=2.0))["timing"]


def test_a_busy_machine_is_a_warning() -> None:
    quiet = sample_verdict(sample_candidate())
    report = StageReport(stage=Stage.MEASURE, seconds=1.0, note=f"{BUSY} 6.5")
    assert "warning" not in EYES.verdict(quiet)
    assert "6.5 other threads" in EYES.verdict(quiet.model_copy(update={"stages": (report,)}))["warning"]


def test_the_best_is_what_was_proved_once_the_campaign_is_closed() -> None:
    tree = Tree([sample_opened(), sample_proposed(1), sample_judged(1, speedup=9.0)])
    found = best(tree)
    assert found is not None
    assert (found["level"], found["speedup"]) == ("screen", 9.0)
    proved = sample_verdict(sample_candidate(1), speedup=3.0)
    assert proved.timing is not None
    proved = proved.model_copy(update={"timing": proved.timing.model_copy(update={"level": "sealed"})})
    tree.append(Sealed(step=1, verdict=proved, elapsed_s=2.0))
    tree.append(Closed(winner=1, reason="", elapsed_s=3.0))
    found = best(tree)
    assert found is not None
    assert (found["level"], found["speedup"]) == ("sealed", 3.0)
    lost = Tree([sample_opened(), sample_proposed(1), sample_judged(1, speedup=9.0)])
    lost.append(Closed(winner=None, reason="", elapsed_s=3.0))
    assert best(lost) is None


BENCH = '''"""Scales rows."""
import torch

batch, features = 16, 1024
kept = 3

class Model(torch.nn.Module):
    """Multiplies by a learned factor."""
    def forward(self, x):
        return helper(x) * self.factor

@torch.no_grad()
def helper(x):
    return x + kept

def get_inputs():
    return [torch.randn(batch, features) * 7.0]

def get_init_inputs():
    return [features]
'''


def test_of_a_kernelbench_problem_the_model_is_shown() -> None:
    files = (TASK.files[0], SourceFile(path="kernelbench_model.py", text=BENCH))
    shown = Shown(TASK.model_copy(update={"format": "kernelbench", "files": files, "axes": ()})).task()
    for wanted in (
        "Scales rows",
        "learned factor",
        "batch, features = 16, 1024",
        "@torch.no_grad()\ndef helper",
        "[features]",
    ):
        assert wanted in shown["reference"]
    assert "randn" not in shown["reference"]
    assert "`p_conv_weight` is `conv.weight`" in shown["reference_note"]
    assert shown["domain"].startswith("fixed")


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
