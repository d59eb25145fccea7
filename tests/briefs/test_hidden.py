from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kernelevolve.briefs.hidden import Hidden, rounded
from kernelevolve.model.brief import Memory
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis, Evidence, Unknown
from kernelevolve.model.events import Settings
from kernelevolve.model.task import Axis, ShapeSets, Task, TensorSpec
from kernelevolve.model.verdict import CompileMessage, Mismatch, Outcome
from kernelevolve.testing.samples import sample_opened, sample_task, sample_verdict
from tests.briefs.trees import Campaign, cpp, mutate, rendered


def task_of(shapes: ShapeSets) -> Task:
    return sample_task().model_copy(
        update={
            "axes": (Axis(name="R"), Axis(name="C")),
            "inputs": (TensorSpec(name="x", dtype="float32", dims=("R", "C")),),
            "outputs": (TensorSpec(name="out", dtype="float32", dims=("R", "C+1")),),
            "shapes": shapes,
        }
    )


SIZES = st.integers(1009, 99_991)


@given(SIZES, SIZES, st.integers(0, 3))
@settings(deadline=None, max_examples=60, database=None, suppress_health_check=[HealthCheck.differing_executors])
def test_no_brief_tells_a_size_that_only_hidden_shapes_have(rows: int, columns: int, bucket: int) -> None:
    """Also not as a count that follows from it, a figure of a diagnosis, or in a compiler's words."""
    hidden = {"R": rows, "C": columns}
    sets = {"search": (hidden,)} if bucket % 2 else {"sealed": (hidden,)}
    task = task_of(ShapeSets(shown=({"R": 7, "C": 100},), **sets))
    telling = {rows, columns, columns + 1, rows * columns, 4 * rows * columns, rows * (columns + 1)}
    made = Campaign(sample_opened(Settings()).model_copy(update={"task": task}))
    shape = f"R={rows}, C={columns}"
    found = Diagnosis(
        bottleneck=Bottleneck.COMPUTE,
        evidence=tuple(Evidence(name="n", value=float(n), unit="B", note=f"{shape}; {n} B") for n in telling),
        advice=f"{shape} takes 3.0x its floor; {rows}x{columns}",
        kernel=f"scale<{columns}>",
        unknown=(Unknown(what=f"size {rows}", why=shape),),
    )
    made.add(cpp(4, "a start"), speedup=1.2, diagnosis=found)
    wrong = cpp(5, "wider")
    mismatch = Mismatch(tensor="out", shape=hidden, n_wrong=3, n_total=rows * columns, first_index=(0, 0))
    message = CompileMessage(
        file="double.cpp", message=f"specialised for [{rows}, {columns}], {4 * rows * columns} bytes"
    )
    verdict = sample_verdict(wrong, outcome=Outcome.WRONG).model_copy(
        update={"mismatch": mismatch, "compile_messages": (message,), "message": f"wrong at {shape}; returned {rows}"}
    )
    made.add(wrong, parents=(1,), verdict=verdict)
    plain = Campaign(sample_opened(Settings()).model_copy(update={"task": task}))
    plain.add(cpp(4, "a start"), speedup=1.2)
    said_anyway = set(map(int, re.findall(r"\d+", rendered(plain.brief(mutate(1))).text)))
    assume(not telling & said_anyway)
    for step in (1, 2):
        brief = made.brief(mutate(step, Memory.BOTH))
        text = rendered(brief).text + brief.model_dump_json(exclude={"seed"})
        assert not telling & {int(number) for number in re.findall(r"\d+", text)}, text


def test_what_shown_shapes_have_as_well_stays() -> None:
    hidden = Hidden(task_of(ShapeSets(shown=({"R": 4099, "C": 64},), search=({"R": 4099, "C": 2},))))
    assert hidden.text("R=4099, C=64 is fine, R=4099, C=2 is not; 2 errors in 4099 rows") == (
        "R=4099, C=64 is fine, R=4099, C=(hidden) is not; 2 errors in 4099 rows"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [("N=4099", "N=(hidden)"), ("{'N': 7013}", "{'N': (hidden)}"), ("N = 4099,", "N = (hidden),"),
     ("N==4099", "N==(hidden)"),
     ("N=5", "N=(hidden)"), ("4099 elements", "(number) elements"), ("16396 bytes", "(number) bytes"),
     ("3 of 4098 elements", "3 of (number) elements"), ("[2, 4099]", "[(number)]"), ("at 2x4099.", "at (number)."),
     ("N=100", "N=100"), ("400 bytes", "400 bytes"), ("4099.5 us", "4099.5 us"), ("x4099", "x4099"),
     ("1" * 5000, "(number)"), ("at 4099.", "at (number).")],
)  # fmt: skip
def test_forms_in_which_a_size_is_told(text: str, told: str) -> None:
    assert Hidden(sample_task()).text(text) == told


def test_sizes_that_cannot_be_computed_are_no_obstacle() -> None:
    task = sample_task()
    axes = (*task.axes, Axis(name="L", role="input"))
    odd = TensorSpec(name="y", dtype="float32", dims=("L", "(N"))
    hidden = Hidden(task.model_copy(update={"axes": axes, "outputs": (*task.outputs, odd)}))
    assert hidden.text("N=4099") == "N=(hidden)"
    assert hidden.diagnosis(None) is None


def test_figures_are_rounded_to_two_digits() -> None:
    assert [rounded(value) for value in (0.0, 12.3456, 0.98765, 32792.0, -7.04)] == [0.0, 12.0, 0.99, 33000.0, -7.0]


@given(st.integers(101, 10**6), st.integers(101, 10**6))
@settings(deadline=None, max_examples=40, database=None, suppress_health_check=[HealthCheck.differing_executors])
def test_what_a_candidate_writes_does_not_find_out_which_numbers_are_hidden(first: int, second: int) -> None:
    """Two campaigns that differ in a hidden size only tell the same, whatever list of sizes a source provokes."""
    probe = f"N={first} N={second} N = 7 {first} {second} [{first}, 2] {4 * first} bytes, {second}x{first}"
    tasks = [
        sample_task().model_copy(update={"shapes": ShapeSets(shown=({"N": 100},), search=({"N": size},))})
        for size in (first, second)
    ]
    told = {(Hidden(task).text(probe), Hidden(task).remark(probe)) for task in tasks}
    assert len(told) == 1


def test_a_remark_keeps_its_numbers() -> None:
    hidden = Hidden(sample_task())
    assert hidden.remark("256 threads beat 128; N=4099 and N=5 are slow, N=100 is not") == (
        "256 threads beat 128; N=(hidden) and N=(hidden) are slow, N=100 is not"
    )
    assert hidden.own("215 GB/s at N=4099, N=5") == "215 GB/s at N=(hidden), N=5"
