"""A verdict explained with the machine code at hand: what the judge built lies in the same cache."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.diagnosis.explain import GPU_KINDS, explain
from kernelevolve.errors import KernelEvolveError
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.diagnosis import Diagnosis
from kernelevolve.model.events import Opened
from kernelevolve.model.kernel_facts import KernelFacts
from kernelevolve.model.task import Task
from kernelevolve.model.verdict import Verdict
from kernelevolve.toolchains import make_toolchain
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.cubin import kernel_facts
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path
from kernelevolve.toolchains.sass import facts_with_mix

BUILD_TIMEOUT_S = 60.0


def explain_with_code(verdict: Verdict, opened: Opened, candidate: Candidate, *, cache: Path) -> Diagnosis | None:
    """None unless the verdict is correct and timed. Without the mix of instructions: taking a kernel apart costs as
    much as judging it does."""
    code = code_of(opened.task, candidate, cache=cache) if verdict.correct and opened.facts.kind in GPU_KINDS else ()
    return explain(verdict, opened.facts, cold=opened.task.objective.cache == "cold", code=code)


def code_of(task: Task, candidate: Candidate, *, cache: Path, mix: bool = False) -> tuple[KernelFacts, ...]:
    """The kernels of a call, one for each launch; none where the code is not at hand or cannot be read: a diagnosis
    then rests on times alone."""
    try:
        built = make_toolchain(candidate.language, cache=cache).build(task, candidate, timeout_s=BUILD_TIMEOUT_S)
        if not isinstance(built, Artifact):
            return ()
        record = Path(built.path)
        device = DeviceBuilt.from_json(record.read_text())
        found = {}
        for name, kernel in zip(device.plan.kernels, device.kernels, strict=True):
            read = facts_with_mix if mix else kernel_facts
            facts = read(cubin_path(record, kernel).read_bytes(), messages=built.messages)
            found[name] = next((item for item in facts if item.name == kernel.function), None)
    except (KernelEvolveError, OSError, ValueError):
        return ()
    each = [found[launch.kernel] for launch in device.plan.launch]
    known = tuple(item for item in each if item is not None)
    return known if len(known) == len(each) else ()
