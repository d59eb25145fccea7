"""Kernels with one fault each, through every pass of a GPU diagnosis: is the fault found, and what does each pass cost?

    python benchmarks/gpu_profile.py --out FOLDER [--only NAME ...]

Writes FOLDER/gpu_profile.json and what ncu said word for word (ncu_*.csv). The clocks are left as they are.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from kernelevolve.campaign.profile import Wanted, made_ready
from kernelevolve.diagnosis.found import Found
from kernelevolve.diagnosis.metric_names import metrics, names_on
from kernelevolve.diagnosis.ncu import find_ncu
from kernelevolve.diagnosis.passes import Pass, Subject, diagnoses, start
from kernelevolve.diagnosis.profiler_passes import DEEP, EVERYTHING, NcuPass, ScopesPass, TimelinePass
from kernelevolve.diagnosis.static_passes import RooflinePass, StaticPass
from kernelevolve.errors import MachineError, RecordError
from kernelevolve.interfaces.cli.candidates import read_candidate
from kernelevolve.platforms import make_platform
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.cache import default_cache
from kernelevolve.toolchains.sass import find_disassembler

TESTS = Path(__file__).parents[1] / "tests"
KERNELS = TESTS / "diagnosis" / "kernels"
SHAPE = {"R": 4096, "C": 8192}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    names = given.only or sorted(path.name for path in KERNELS.iterdir() if path.is_dir())
    facts = make_platform("cuda").facts()
    with tempfile.TemporaryDirectory(prefix="ke-gpu-profile-") as folder:
        wanted = Wanted(
            task=load_task(str(TESTS / "attacks" / "tasks" / "row_scale"), platform="cuda"), shape=SHAPE,
            candidates={name: read_candidate(KERNELS / name / "kernel.cu") for name in names},
        )  # fmt: skip
        started = time.monotonic()
        subject = Subject(job=made_ready(wanted, Path(folder), default_cache()), facts=facts, timeout_s=500.0)
        ready_s = time.monotonic() - started
        passes = _passes(given.out)
        costs, found = _timed(passes, subject)
    report = {
        "gpu": facts.model, "copy_gb_per_s": facts.copy_gb_per_s, "ncu": _version(), "ready_s": round(ready_s, 2),
        "disassembler": find_disassembler() or "none", "shape": SHAPE, "passes": costs,
        "kernels": _kernels(found, names, next(iter(facts.isa), "")),
    }  # fmt: skip
    report["n_found"] = sum(kernel["found"] for kernel in report["kernels"].values())
    report["n_kernels"] = len(names)
    (given.out / "gpu_profile.json").write_text(json.dumps(report, indent=1) + "\n")
    _print(report)
    return 0 if report["n_found"] == report["n_kernels"] else 1


def _passes(out: Path) -> list[Pass]:
    return [
        StaticPass(), RooflinePass(), NcuPass(keep=out / "ncu_core.csv"),
        NcuPass(DEEP, follow_up=True, keep=out / "ncu_deep.csv"), NcuPass(EVERYTHING, keep=out / "ncu_everything.csv"),
        TimelinePass(), ScopesPass(),
    ]  # fmt: skip


def _timed(passes: list[Pass], subject: Subject) -> tuple[list[dict[str, Any]], dict[str, Found]]:
    """Each pass over all candidates, whatever is known already; and what they know together."""
    costs: list[dict[str, Any]] = []
    found = start(subject)
    for item in passes:
        started = time.monotonic()
        results: dict[str, Found] = {}
        error = ""
        try:
            results = item.run(subject)
        except (MachineError, RecordError, OSError) as failure:
            error = str(failure)
        seconds = round(time.monotonic() - started, 2)
        found = {label: one.with_(results[label]) if label in results else one for label, one in found.items()}
        costs.append({"pass": item.name, "gives": sorted(item.gives), "seconds": seconds, "n": len(results)})
        costs[-1]["error"] = error
        print(costs[-1], flush=True)
    return costs, found


def _kernels(found: dict[str, Found], names: list[str], isa: str) -> dict[str, Any]:
    asked = names_on(isa, metrics(EVERYTHING))
    report: dict[str, Any] = {}
    for name, diagnosis in diagnoses(found).items():
        match = re.match(r"// expect: ([a-z_ ]+)\n", (KERNELS / name / "kernel.cu").read_text())
        expected = match[1].split() if match else []
        causes = [cause.value for cause in (diagnosis.cause, *diagnosis.also) if cause is not None]
        facts = {**found[name].call.known, **found[name].launches[0].known}
        report[name] = {
            "expected": expected, "found": bool(set(expected) & set(causes)),
            "first": bool(set(expected) & set(causes[:1])),
            "causes": causes, "advice": diagnosis.advice,
            "evidence": [item.model_dump(mode="json") for item in diagnosis.evidence],
            "unknown": [item.model_dump(mode="json") for item in diagnosis.unknown],
            "registers_agree": facts["registers"].value == facts["launch__registers_per_thread"].value
            if {"registers", "launch__registers_per_thread"} <= facts.keys() else None,
            "asked_and_not_told": [metric for metric in asked if metric not in facts],
            "facts": {key: [fact.value, fact.unit, fact.source] for key, fact in sorted(facts.items())},
        }  # fmt: skip
    return {name: report[name] for name in names if name in report}


def _version() -> str:
    ncu = find_ncu()
    if ncu is None:
        return "none"
    text = subprocess.run([ncu, "--version"], capture_output=True, text=True, check=False).stdout
    return next((line for line in text.splitlines() if "Version" in line), text.strip()[-80:])


def _print(report: dict[str, Any]) -> None:
    print(report["gpu"], report["ncu"], f"{report['n_found']} of {report['n_kernels']} faults found")
    for name, kernel in report["kernels"].items():
        mark = "first" if kernel["first"] else "found" if kernel["found"] else "MISSED"
        print(
            f"{mark:6} {name:18} expected {' '.join(kernel['expected'])}; causes {' '.join(kernel['causes']) or 'none'}"
        )
        if kernel["asked_and_not_told"]:
            print(f"       not told: {' '.join(kernel['asked_and_not_told'])[:300]}")


if __name__ == "__main__":
    raise SystemExit(main())
