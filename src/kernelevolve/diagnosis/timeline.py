"""torch.profiler's trace: what each launch of each candidate took, and the gaps between them."""

from __future__ import annotations

import json
import statistics
from typing import Any

from kernelevolve.diagnosis.device_launcher import COPY_KERNEL
from kernelevolve.diagnosis.found import TIME, Found
from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.errors import MachineError, RecordError
from kernelevolve.model.profile_job import ProfiledCandidate, ProfileJob

OCCUPANCY = "est. achieved occupancy %"


def findings(trace: str, job: ProfileJob, *, n_calls: int) -> dict[str, Found]:
    """By label. The kernels stand in the trace in the order in which they ran. Raises RecordError, MachineError."""
    kernels = _kernels(trace)
    found, at = {}, 0
    for item in job.candidates:
        names = [launch.function for launch in item.launches] * n_calls
        taken = kernels[at : at + len(names)]
        if len(taken) < len(names):
            break
        wrong = next((pair for pair in zip(taken, names, strict=True) if not _same(pair[0]["name"], pair[1])), None)
        if wrong is not None:
            raise MachineError(f"the trace has {wrong[0]['name'][:80]} where {item.label} launched {wrong[1][:80]}")
        found[item.label] = _found(item, taken, n_calls)
        at += len(names)
    return found


def _kernels(trace: str) -> list[dict[str, Any]]:
    try:
        events = json.loads(trace)["traceEvents"]
        kernels = [event for event in events if event.get("cat") == "kernel" and event["name"] != COPY_KERNEL]
        return sorted(kernels, key=lambda event: float(event["ts"]))
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"torch.profiler's trace cannot be read: {error}") from error


def _same(shown: str, function: str) -> bool:
    """The trace shows names as in the source; only plain ones can be compared."""
    return function.startswith("_Z") or shown.partition("(")[0] == function


def _found(item: ProfiledCandidate, events: list[dict[str, Any]], n_calls: int) -> Found:
    n_launches = len(item.launches)
    calls = [events[n_launches * number : n_launches * (number + 1)] for number in range(n_calls)]
    spans = [float(call[-1]["ts"]) + float(call[-1]["dur"]) - float(call[0]["ts"]) for call in calls]
    inside = [sum(float(event["dur"]) for event in call) for call in calls]
    gaps = [span - busy for span, busy in zip(spans, inside, strict=True)]
    launches = []
    for number in range(n_launches):
        column = [call[number] for call in calls]
        occupancy = [event.get("args", {}).get(OCCUPANCY) for event in column]
        values = {
            TIME: statistics.median(float(event["dur"]) for event in column),
            "estimated_occupancy_pct": float(occupancy[0]) if isinstance(occupancy[0], int | float) else None,
        }
        launches.append(Facts.of("cupti", values, {TIME: "us", "estimated_occupancy_pct": "%"}))
    call_facts = Facts.of(
        "cupti", {"span_us": statistics.median(spans), "gaps_us": statistics.median(gaps)},
        {"span_us": "us", "gaps_us": "us"},
    )  # fmt: skip
    return Found(names=tuple(launch.kernel for launch in item.launches), call=call_facts, launches=tuple(launches))
