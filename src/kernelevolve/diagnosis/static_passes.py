"""The passes that need no profiler: machine code, and floors against the judge's times."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.diagnosis.cuda_facts import code_facts, floor_facts, launch_facts
from kernelevolve.diagnosis.found import Found
from kernelevolve.diagnosis.gathered import Facts
from kernelevolve.diagnosis.passes import Subject
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.kernel_facts import KernelFacts
from kernelevolve.model.profile_job import ProfiledCandidate, ProfileLaunch
from kernelevolve.model.verdict import CompileMessage
from kernelevolve.toolchains.sass import facts_with_mix

CODE, FLOOR = "code", "floor"


class StaticPass:
    name = "machine code"
    needs: frozenset[str] = frozenset()
    gives = frozenset({CODE})

    def wants(self, so_far: Diagnosis) -> bool:
        return True

    def run(self, subject: Subject) -> dict[str, Found]:
        return {item.label: _static(item) for item in subject.job.candidates}


class RooflinePass:
    name = "roofline"
    needs: frozenset[str] = frozenset()
    gives = frozenset({FLOOR})

    def wants(self, so_far: Diagnosis) -> bool:
        return True

    def run(self, subject: Subject) -> dict[str, Found]:
        return {
            item.label: Found(
                names=tuple(launch.kernel for launch in item.launches),
                call=floor_facts(
                    n_bytes=subject.job.bytes_moved, facts=subject.facts, cold=subject.job.cold,
                    latency_us=subject.latency_us.get(item.label), operations=subject.operations,
                    operations_per_s=subject.operations_per_s,
                ),
            )
            for item in subject.job.candidates
        }  # fmt: skip


def _static(item: ProfiledCandidate) -> Found:
    messages = tuple(CompileMessage(file="(ptxas)", severity="note", message=text) for text in item.messages)
    by_file: dict[str, dict[str, KernelFacts]] = {}
    for path in dict.fromkeys(launch.cubin for launch in item.launches):
        by_file[path] = {kernel.name: kernel for kernel in facts_with_mix(Path(path).read_bytes(), messages=messages)}
    return Found(
        names=tuple(launch.kernel for launch in item.launches),
        launches=tuple(_of(launch, by_file[launch.cubin].get(launch.function)) for launch in item.launches),
    )


def _of(launch: ProfileLaunch, kernel: KernelFacts | None) -> Facts:
    facts = launch_facts(launch)
    return facts.with_(code_facts(kernel)) if kernel is not None else facts
