"""The graph of passes: what fails stays unknown and takes nothing else down; what is finished is not profiled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from kernelevolve.diagnosis import cuda_rules as rules
from kernelevolve.diagnosis import scopes, timeline
from kernelevolve.diagnosis.found import TIME, Found, call_facts, diagnose
from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.diagnosis.metric_names import ALL_STALLS, metric_set
from kernelevolve.diagnosis.passes import Subject, diagnoses, run_passes
from kernelevolve.diagnosis.profiler_passes import depth_of, passes_for
from kernelevolve.diagnosis.static_passes import RooflinePass
from kernelevolve.errors import MachineError, RecordError, ToolMissingError, UnknownNameError
from kernelevolve.model.diagnosis import Cause, Diagnosis
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.profile_job import ProfiledCandidate, ProfileJob, ProfileLaunch

FACTS = PlatformFacts(name="cuda", kind="cuda", n_cores=132, isa=("sm_90",), copy_gb_per_s=4000.0)
BYTES = 40_000_000  # floor 10 us


def launch(name: str) -> ProfileLaunch:
    return ProfileLaunch(kernel=name, function=name, cubin="/x", grid=(500, 1, 1), block=(128, 1, 1))


def subject(latency_us: dict[str, float] | None = None, **candidates: tuple[str, ...]) -> Subject:
    given = candidates or {"a": ("k",), "b": ("k",)}
    items = tuple(ProfiledCandidate(label=label, launches=tuple(map(launch, names))) for label, names in given.items())
    job = ProfileJob(shape={"N": 1}, bytes_moved=BYTES, arena="/x", arena_bytes=1, candidates=items)
    return Subject(job=job, facts=FACTS, latency_us=latency_us or {})


@dataclass(kw_only=True)
class FakePass:
    name: str = "fake"
    needs: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset({"x"})
    values: dict[str, float] = field(default_factory=dict)
    error: Exception | None = None
    only: tuple[str, ...] = ()
    asked: list[tuple[str, ...]] = field(default_factory=list)
    wanting: Callable[[Diagnosis], bool] = lambda so_far: True

    def wants(self, so_far: Diagnosis) -> bool:
        return self.wanting(so_far)

    def run(self, subject: Subject) -> dict[str, Found]:
        self.asked.append(subject.labels)
        if self.error is not None:
            raise self.error
        labels = [label for label in subject.labels if not self.only or label in self.only]
        return {label: Found(names=("k",), launches=(Facts.of(self.name, self.values),)) for label in labels}


def reasons(found: Found) -> dict[str, str]:
    return {item.what: item.why for item in found.call.unknown}


@pytest.mark.parametrize("error", [MachineError("no device"), ToolMissingError("no ncu"), RecordError("no table")])
def test_a_pass_that_fails_leaves_its_facts_unknown_and_says_why(error: Exception) -> None:
    broken = FakePass(name="broken", gives=frozenset({"counters"}), error=error)
    after = FakePass(name="after", needs=frozenset({"counters"}), gives=frozenset({"more"}))
    fine = FakePass(name="fine", values={"registers": 40.0})
    found = run_passes((broken, after, fine), subject())
    assert after.asked == []
    assert reasons(found["a"]) == {
        "counters": f"broken: {error}", "more": "after: it needs counters, which nothing gave",
    }  # fmt: skip
    assert found["b"].launches[0].get("registers") == 40.0
    assert diagnoses(found)["a"].unknown == found["a"].call.unknown


def test_a_candidate_that_a_pass_did_not_reach_is_unknown_alone() -> None:
    found = run_passes((FakePass(only=("a",), values={"y": 1.0}),), subject())
    assert reasons(found["a"]) == {}
    assert reasons(found["b"]) == {"x": "fake: it ended before this candidate"}


def test_later_passes_add_to_and_correct_earlier_ones() -> None:
    found = run_passes((FakePass(values={"y": 1.0, "z": 2.0}), FakePass(values={"y": 3.0})), subject())
    assert (found["a"].launches[0].get("y"), found["a"].launches[0].get("z")) == (3.0, 2.0)


def test_who_is_at_the_floor_is_not_profiled_unless_everything_is_asked_for() -> None:
    times = {"a": 10.5, "b": 30.0}
    dear = FakePass(wanting=lambda so_far: so_far.cause is not Cause.AT_ROOFLINE)
    found = run_passes((RooflinePass(), dear), subject(times))
    assert dear.asked == [("b",)]
    assert diagnoses(found)["a"].cause is Cause.AT_ROOFLINE
    run_passes((RooflinePass(), dear), subject(times), everything=True)
    assert dear.asked[-1] == ("a", "b")


def test_the_depths_are_what_they_say() -> None:
    assert [item.name for item in passes_for("code")] == ["machine code", "roofline"]
    assert [item.name for item in passes_for("counters")] == ["machine code", "roofline", "ncu", "ncu"]
    assert passes_for("counters")[3].needs == passes_for("counters")[2].gives
    assert [item.name for item in passes_for("full")][2:] == ["ncu", "torch.profiler", "Proton"]
    assert depth_of("full") == "full"
    with pytest.raises(UnknownNameError):
        depth_of("deep")


def test_only_what_the_first_counters_leave_open_is_asked_again() -> None:
    follow_up = passes_for("counters")[3]
    assert follow_up.wants(diagnose(Found(names=("k",))))
    small = Facts.of("plan", {"grid_blocks": 3, "n_cores": 132})
    assert not follow_up.wants(diagnose(Found(names=("k",), launches=(small,))))


def test_the_launch_that_takes_longest_is_explained() -> None:
    slow = {TIME: 30.0, rules.DURATION: 3e4, rules.DRAM: 95.0}
    quick = {TIME: 3.0, rules.DURATION: 3e3, "grid_blocks": 1.0, "n_cores": 132.0}
    found = Found(names=("small", "large"), launches=(Facts.of("ncu", quick), Facts.of("ncu", slow)))
    diagnosis = diagnose(found)
    assert (diagnosis.cause, diagnosis.kernel) == (Cause.DRAM_BOUND, "large")
    without = Found(names=found.names, launches=(Facts.of("ncu", {"grid_blocks": 1.0, "n_cores": 9.0}), Facts()))
    assert diagnose(without).cause is None  # nobody knows which one counts


def test_a_part_is_no_sum() -> None:
    both = {TIME: 5.0, "dram__bytes_read.sum": 7.0, "dram__bytes_write.sum": 1.0}
    whole = call_facts([Facts.of("ncu", both), Facts.of("ncu", both)])
    assert (whole.get("kernels_us"), whole.get("dram_bytes"), whole.get("n_short_kernels")) == (10.0, 16.0, 2.0)
    part = call_facts([Facts.of("ncu", both), Facts.of("ncu", {"dram__bytes_read.sum": 7.0})])
    assert (part.get("kernels_us"), part.get("dram_bytes"), part.get("n_kernels")) == (None, None, 2.0)


def test_without_a_judges_time_the_kernels_time_is_held_against_the_floor() -> None:
    passes = (RooflinePass(), FakePass(values={TIME: 10.4, rules.DURATION: 10_400.0}))
    assert diagnoses(run_passes(passes, subject()))["a"].cause is Cause.AT_ROOFLINE


def test_reasons_for_waiting_that_do_not_add_up_are_told() -> None:
    names = [name for name in metric_set(ALL_STALLS) if name != rules.LATENCY]
    values: dict[str, float | None] = {**dict.fromkeys(names, 1.0), rules.LATENCY: float(len(names))}
    sound = Found(names=("k",), launches=(Facts.of("ncu", values),))
    assert diagnose(sound).unknown == ()
    gap = Found(names=("k",), launches=(Facts.of("ncu", {**values, rules.LATENCY: 2.0 * len(names)}),))
    assert diagnose(gap).unknown[0].what == "reasons for waiting"


def event(name: str, at: float, took: float, **args: float) -> dict[str, object]:
    return {"ph": "X", "cat": "kernel", "name": name, "ts": at, "dur": took, "args": args}


def test_the_timeline_gives_medians_and_gaps() -> None:
    events: list[dict[str, object]] = [event("ke_copy", 0.0, 300.0), {"cat": "gpu_memset", "name": "m", "ts": 1}]
    for call, took in enumerate((5.0, 6.0, 50.0)):
        start = 1000.0 * (call + 1)
        events += [event("k", start + 8.0 + took, 2.0), event("j", start, took, **{timeline.OCCUPANCY: 25})]
    found = timeline.findings(json.dumps({"traceEvents": events}), subject(a=("j", "k")).job, n_calls=3)["a"]
    assert [item.get(TIME) for item in found.launches] == [6.0, 2.0]
    assert found.launches[0].get("estimated_occupancy_pct") == 25.0
    assert found.launches[1].get("estimated_occupancy_pct") is None
    assert (found.call.get("span_us"), found.call.get("gaps_us")) == (16.0, 8.0)


def test_a_trace_of_other_kernels_or_of_nothing_is_no_measurement() -> None:
    job = subject(a=("j",)).job
    with pytest.raises(MachineError, match="has other where a launched j"):
        timeline.findings(json.dumps({"traceEvents": [event("other", 0.0, 1.0)]}), job, n_calls=1)
    with pytest.raises(RecordError, match="cannot be read"):
        timeline.findings("{}", job, n_calls=1)
    assert timeline.findings('{"traceEvents": []}', job, n_calls=1) == {}


def test_protons_tree_gives_the_time_of_a_scope() -> None:
    kernels = [{"frame": {"name": "k"}, "metrics": {"time (ns)": 4000, "count": 2}, "children": []}]
    scope = {"frame": {"name": "a"}, "metrics": {}, "children": kernels}
    tree = [{"frame": {"name": "ROOT"}, "metrics": {}, "children": [scope]}, {"CUDA": {"0": {}}}]
    found = scopes.findings(json.dumps(tree), subject().job, n_calls=2)
    assert list(found) == ["a"]
    assert found["a"].call.get("proton_us") == 2.0
    with pytest.raises(RecordError):
        scopes.findings("[[]", subject().job, n_calls=2)
