"""Proton's tree: time by scope and kernel. A candidate is a scope under its label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kernelevolve.diagnosis.found import Found
from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.errors import RecordError
from kernelevolve.model.profile_job import ProfileJob

_TIMES = {"time (ns)": 1e-3, "time (us)": 1.0, "time (ms)": 1e3, "time (s)": 1e6}


def findings(tree: str, job: ProfileJob, *, n_calls: int) -> dict[str, Found]:
    """By label: the time inside kernels of one call. Raises RecordError."""
    try:
        roots = json.loads(tree)
        nodes = {node["frame"]["name"]: node for root in roots if "frame" in root for node in _walk(root)}
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"Proton's tree cannot be read: {error}") from error
    found = {}
    for item in job.candidates:
        if item.label not in nodes:
            continue
        leaves = [node for node in _walk(nodes[item.label]) if not node.get("children")]
        times = [time for node in leaves if (time := _time_us(node.get("metrics", {}))) is not None]
        if times:
            facts = Facts.of("proton", {"proton_us": sum(times) / n_calls}, {"proton_us": "us"})
            found[item.label] = Found(names=tuple(launch.kernel for launch in item.launches), call=facts)
    return found


def _walk(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("children", ()):
        yield from _walk(child)


def _time_us(metrics: Mapping[str, Any]) -> float | None:
    """Of a node itself; a scope has none of its own, its kernels have."""
    for name, factor in _TIMES.items():
        value = metrics.get(name)
        if isinstance(value, int | float) and value > 0:
            return float(value) * factor
    return None
