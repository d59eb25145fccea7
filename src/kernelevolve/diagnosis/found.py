"""What is known of each candidate of a job: of its whole call, and of each of its launches; and from that its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernelevolve.diagnosis import cuda_rules
from kernelevolve.diagnosis.cuda_classes import Looked, Scope, classify, stall_gap
from kernelevolve.diagnosis.gathered import Fact, Facts
from kernelevolve.diagnosis.metric_names import ALL_STALLS, metric_set
from kernelevolve.model.diagnosis import Diagnosis, Unknown

TIME = "kernel_us"
"""Of one launch, by whichever profiler gave it."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """`launches` in the order of the plan; each has a name in `names`."""

    names: tuple[str, ...]
    call: Facts = Facts()
    launches: tuple[Facts, ...] = ()

    def with_(self, other: Found) -> Found:
        """Both; where a name is in both, the other's."""
        mine = self.launches or tuple(Facts() for _ in self.names)
        theirs = other.launches or tuple(Facts() for _ in self.names)
        return replace(
            self, call=self.call.with_(other.call),
            launches=tuple(left.with_(right) for left, right in zip(mine, theirs, strict=True)),
        )  # fmt: skip

    @property
    def decisive(self) -> int | None:
        """The launch that takes longest; the only one where there is one; None where no time is known."""
        if len(self.names) == 1:
            return 0
        times = [launch.get(TIME) for launch in self.launches]
        known = [time for time in times if time is not None]
        return times.index(max(known)) if known and len(known) == len(times) else None


def call_facts(launches: Sequence[Facts]) -> Facts:
    """What only the launches together say: time inside kernels, how many are short, bytes over the memory's pins."""
    times = [launch.get(TIME) for launch in launches]
    known = [time for time in times if time is not None]
    traffic = [launch.total(cuda_rules.DRAM_BYTES) for launch in launches]
    bytes_moved = [item for item in traffic if item is not None]
    complete = bool(known) and len(known) == len(launches)
    source = next((launch.known[TIME].source for launch in launches if launch.has(TIME)), "")
    values: dict[str, float | None] = {
        "n_kernels": len(launches),
        "kernels_us": sum(known) if complete else None,
        "n_short_kernels": sum(time < cuda_rules.SHORT_US for time in known) if complete else None,
    }
    counted = {"dram_bytes": sum(bytes_moved) if bytes_moved and len(bytes_moved) == len(launches) else None}
    units = {"kernels_us": "us", "dram_bytes": "B"}
    return Facts.of(source, values, units).with_(Facts.of("ncu", counted, units))


def diagnose(found: Found) -> Diagnosis:
    """The launch that takes longest is explained; the call's own facts count for it too."""
    call = call_facts(found.launches).with_(found.call)
    number = found.decisive
    if number is None:
        return classify(call, Looked(scope=_scope(found.call)))
    launch = found.launches[number] if found.launches else Facts()
    facts = _shares(launch.with_(call))
    reasons = tuple(name for name in metric_set(ALL_STALLS) if name != cuda_rules.LATENCY)
    if (gap := stall_gap(facts, reasons, cuda_rules.LATENCY)) is not None:
        facts = facts.with_(Facts.missing("reasons for waiting", gap))
    name = found.names[number] if len(found.names) > 1 else ""
    return classify(facts, Looked(scope=_scope(facts), kernel=name))


def _shares(facts: Facts) -> Facts:
    """Floors over the time of the call; where no judge timed it, over the time inside its kernels."""
    time = facts.get("latency_us") or facts.get("kernels_us")
    added: dict[str, Fact] = {}
    for kind in ("memory", "compute"):
        floor = facts.known.get(f"{kind}_floor_us")
        name = f"share_of_{kind}_floor"
        if floor is not None and time and not facts.has(name):
            added[name] = Fact(value=floor.value / time, unit="1", source=floor.source)
    return facts.with_(Facts(known=added))


def _scope(facts: Facts) -> Scope:
    if facts.has(cuda_rules.DURATION):
        return "counters"
    return "static" if facts.has("code_bytes") else "verdict"


def unknown(found: Mapping[str, Found]) -> tuple[Unknown, ...]:
    """Everything that was not found out, once."""
    return tuple(dict.fromkeys(item for one in found.values() for item in one.call.unknown))
