"""NVIDIA's counters: one ncu process over all candidates of a job, since nine of its ten seconds are its own start.

Clocks are never touched: ncu would lock them for everyone on the device. A counter that is not in its answer, or has no
number there, is unknown.
"""

from __future__ import annotations

import csv
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelevolve.diagnosis.gathered import Fact
from kernelevolve.errors import MachineError, RecordError, ToolMissingError

MISSING = "no ncu: install Nsight Compute (it comes with the CUDA toolkit), or put its folder on PATH"
_SYSTEM = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/ncu", "/usr/local/cuda/nsight-compute/ncu")
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIMES = {
    "s": 1e9, "second": 1e9, "ms": 1e6, "msecond": 1e6, "us": 1e3, "usecond": 1e3, "ns": 1.0, "nsecond": 1.0,
}  # fmt: skip
_SCALED = re.compile(r"(?P<prefix>[KMGT])(?P<noun>byte|inst|cycle|sector|warp|thread|block|request|wavefront)s?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_REFUSED = {
    "ERR_NVGPUCTRPERM": "this user may not read the GPU's counters",
    "Failed to connect": "ncu could not connect to the process",
    "driver resource": "another profiler is using the GPU",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One profiled launch. Times are in ns, amounts in whole units."""

    kernel: str
    values: Mapping[str, Fact]


def find_ncu() -> str | None:
    return shutil.which("ncu") or next((path for path in _SYSTEM if shutil.which(path)), None)


def command(metrics: Sequence[str], *, log: Path, cold: bool, child: Sequence[str]) -> list[str]:
    """Raises ToolMissingError."""
    ncu = find_ncu()
    if ncu is None:
        raise ToolMissingError(MISSING)
    return [
        ncu, "--clock-control", "none", "--cache-control", "all" if cold else "none", "--profile-from-start", "off",
        "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "mangled", "--metrics",
        ",".join(metrics), "--log-file", str(log), sys.executable, *child,
    ]  # fmt: skip


def refusal(log: str) -> str:
    """Why ncu did not profile, in one line, by its own words."""
    for words, meaning in _REFUSED.items():
        if words in log:
            return meaning
    lines = [line for line in log.splitlines() if line.startswith(("==ERROR==", "==WARNING=="))]
    return (lines or log.strip().splitlines() or ["it said nothing"])[-1][:300]


def parse(log: str) -> list[Row]:
    """The rows of a raw page, in the order of the launches. Raises RecordError when there is no table."""
    lines = log.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise RecordError(f"ncu wrote no table: {refusal(log)}")
    table = [row for row in csv.reader(line for line in lines[start:] if line.startswith('"')) if row]
    header, units, rows = table[0], table[1] if len(table) > 1 else [], table[2:]
    if "Kernel Name" not in header:
        raise RecordError("ncu's table has no column 'Kernel Name'")
    if units and units[0].strip():  # the row of units has no ID
        units, rows = [], table[1:]
    columns = [(at, name) for at, name in enumerate(header) if "__" in name]
    return [
        Row(
            kernel=row[header.index("Kernel Name")],
            values={
                name: fact
                for at, name in columns
                if at < len(row) and (fact := _fact(row[at], units[at] if at < len(units) else "")) is not None
            },
        )
        for row in rows
    ]


def rows_by_call(rows: Sequence[Row], expected: Sequence[tuple[str, Sequence[str]]]) -> dict[str, list[Row]]:
    """Rows by the label of what launched them; `expected` has each label's kernels in order. Whoever came too late to
    be profiled is missing. Raises MachineError when another kernel is found than was launched."""
    found: dict[str, list[Row]] = {}
    at = 0
    for label, kernels in expected:
        taken = rows[at : at + len(kernels)]
        if len(taken) < len(kernels):
            break
        for row, kernel in zip(taken, kernels, strict=True):
            if row.kernel != kernel:
                raise MachineError(f"ncu reports the kernel {row.kernel[:80]} where {label} launched {kernel[:80]}")
        found[label] = list(taken)
        at += len(kernels)
    return found


def renamed(values: Mapping[str, Fact], names: Mapping[str, str]) -> dict[str, Fact]:
    """Under our names for the counters; `names`: ours -> the chip's."""
    ours = {theirs: name for name, theirs in names.items()}
    return {ours.get(name, name): fact for name, fact in values.items()}


def _fact(text: str, unit: str) -> Fact | None:
    digits = text.strip().replace(",", "")
    if not _NUMBER.fullmatch(digits):
        return None  # "n/a", "nan", "(!) n/a" or nothing
    factor, plain = _factor(unit.strip())
    return Fact(value=float(digits) * factor, unit=plain, source="ncu")


def _factor(unit: str) -> tuple[float, str]:
    """(what to multiply with, the unit then). Units that are not known stay as they are."""
    if unit in _TIMES:
        return _TIMES[unit], "ns"
    if match := _SCALED.fullmatch(unit.partition("/")[0]):
        noun, per = match["noun"], unit.partition("/")[1:]
        return _PREFIXES[match["prefix"]], noun + "".join(per)
    return 1.0, unit
