"""Makes candidates ready to be profiled: builds them, draws inputs of one shape, and writes both where a profiler's
process finds them. No answer is computed: a profile says nothing about being right.

argv: request.json folder cache       writes folder/job.json, or prints what is wrong and ends with 1
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from kernelevolve.errors import KernelEvolveError, MachineError, UsageError
from kernelevolve.evaluation import cuda_arguments
from kernelevolve.evaluation.arena import Layout, tensor_specs
from kernelevolve.evaluation.channel import Arguments
from kernelevolve.evaluation.draws import moved_bytes
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.pitches import contiguous
from kernelevolve.evaluation.task_module import Inputs, TaskModule
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.job import Limits
from kernelevolve.model.profile_job import ProfileArgument, ProfiledCandidate, ProfileJob, ProfileLaunch
from kernelevolve.model.task import DTYPE_BYTES, FLOAT_DTYPES, Shape, Task, held_bytes_of
from kernelevolve.model.value import Value
from kernelevolve.toolchains import make_toolchain
from kernelevolve.toolchains.abi import is_scalar
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cubin import kernel_facts
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path

SEED = 20_260_101
_KINDS = {"P": "pointer", "S": "scratch", "I": "integer", "D": "real"}


class ProfileRequest(Value):
    """Candidates by label."""

    task: Task
    shape: Shape
    candidates: tuple[tuple[str, Candidate], ...]
    limits: Limits = Limits()


def prepare(request: ProfileRequest, *, folder: Path, cache: Path) -> ProfileJob:
    """Raises UsageError for a candidate that does not build or cannot be launched at this shape; TaskError and
    MachineError as everywhere."""
    task = request.task
    module = TaskModule(task, folder / "task")
    inputs = module.make_inputs(request.shape, seed=SEED)
    sizes = _sizes(module, request.shape, inputs)
    specs = tensor_specs(task.inputs, task.outputs)
    n_bytes = {spec.name: held_bytes_of(spec, sizes) for spec in specs}
    layout = Layout.of(n_bytes)
    arena = folder / "arena.bin"
    _write_arena(arena, layout, task, inputs)
    arguments = _arguments(task, layout, inputs, sizes)
    candidates = tuple(
        _ready(label, candidate, request=request, arguments=arguments, cache=cache)
        for label, candidate in request.candidates
    )
    return ProfileJob(
        shape=request.shape, bytes_moved=moved_bytes(task, sizes), arena=str(arena), arena_bytes=layout.n_bytes,
        cold=task.objective.cache == "cold", candidates=candidates,
    )  # fmt: skip


def _sizes(module: TaskModule, shape: Shape, inputs: Inputs) -> dict[str, int]:
    """Every axis. The reference is only run where an axis is to be read off its result."""
    task = module.task
    sizes = dict(shape)
    for spec in task.inputs:
        for dim, size in zip(spec.dims, inputs[spec.name].shape if spec.dims else (), strict=True):
            if dim.isidentifier():
                sizes.setdefault(dim, int(size))
    sizes |= contiguous(task, inputs)
    if all(axis.name in sizes for axis in task.axes):
        return sizes
    return module.bind_sizes(shape, inputs, module.expected(inputs, shape))


def _write_arena(path: Path, layout: Layout, task: Task, inputs: Inputs) -> None:
    """Inputs where they lie, everything else 0xFF."""
    content = bytearray(b"\xff" * layout.n_bytes)
    for spec in task.inputs:
        if is_scalar(spec):
            continue
        flat = inputs[spec.name].detach().cpu().contiguous().reshape(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        if len(data) != flat.numel() * DTYPE_BYTES[spec.dtype]:
            raise MachineError(f"{spec.name} has {len(data)} bytes for {flat.numel()} elements of {spec.dtype}")
        at = layout.start(0, spec.name)
        content[at : at + len(data)] = data
    path.write_bytes(content)


def _arguments(task: Task, layout: Layout, inputs: Inputs, sizes: dict[str, int]) -> Arguments:
    scalars = [spec for spec in task.inputs if is_scalar(spec)]
    whole = [int(inputs[spec.name]) for spec in scalars if spec.dtype not in FLOAT_DTYPES]
    return Arguments(
        start=0, n_bytes=layout.n_bytes,
        offsets=tuple(layout.start(0, spec.name) for spec in tensor_specs(task.inputs, task.outputs)),
        integers=(*whole, *(sizes[axis.name] for axis in task.axes)),
        reals=tuple(float(inputs[spec.name]) for spec in scalars if spec.dtype in FLOAT_DTYPES),
    )  # fmt: skip


def _ready(
    label: str, candidate: Candidate, *, request: ProfileRequest, arguments: Arguments, cache: Path
) -> ProfiledCandidate:
    toolchain = make_toolchain(candidate.language, cache=cache)
    if (refusal := toolchain.inspect(request.task, candidate)) is not None:
        raise UsageError(f"{label}: {refusal}")
    built = toolchain.build(request.task, candidate, timeout_s=request.limits.build_s)
    if isinstance(built, BuildFailure):
        raise UsageError(f"{label} does not build: {built.messages[0].message}")
    record = Path(built.path)
    device = DeviceBuilt.from_json(record.read_text())
    try:
        line = cuda_arguments.line(
            0, arguments, device.plan, request.task, memory_bytes=request.limits.memory_bytes
        ).decode()
    except CandidateFault as error:
        raise UsageError(f"{label}: {error}") from None
    scratch, launches = _read_line(line, device, record)
    return ProfiledCandidate(
        label=label, candidate_id=candidate.id, launches=launches, scratch=scratch, messages=_notes(built)
    )


def _notes(built: Artifact) -> tuple[str, ...]:
    return tuple(message.message for message in built.messages if message.severity == "note")


def _read_line(line: str, device: DeviceBuilt, record: Path) -> tuple[tuple[int, ...], tuple[ProfileLaunch, ...]]:
    """The runner's own line for these arguments, taken apart: a profile launches exactly what the judge does."""
    words = iter(line.split()[4:])  # "A", slot, start, bytes
    parameters = _parameters(device, record)
    try:
        scratch = tuple(int(next(words)) for _ in range(int(next(words))))
        launches = tuple(_read_launch(words, device, record, parameters) for _ in range(int(next(words))))
    except (StopIteration, ValueError, RuntimeError) as error:  # a generator turns the first into the last
        raise MachineError(f"the runner's line is not as it is known here: {line[:200]!r}") from error
    if next(words, None) is not None:
        raise MachineError(f"the runner's line has more than is known here: {line[:200]!r}")
    return scratch, launches


def _read_launch(
    words: Iterator[str], device: DeviceBuilt, record: Path, parameters: tuple[tuple[int, ...], ...]
) -> ProfileLaunch:
    number = int(next(words))
    kernel = device.kernels[number]
    x, y, z, block_x, block_y, block_z, shared, n_arguments = (int(next(words)) for _ in range(8))
    return ProfileLaunch(
        kernel=device.plan.kernels[number], function=kernel.function, cubin=str(cubin_path(record, kernel)),
        grid=(x, y, z), block=(block_x, block_y, block_z), shared_bytes=shared, parameter_bytes=parameters[number],
        arguments=tuple(
            ProfileArgument.model_validate({"kind": _KINDS[next(words)], "value": int(next(words))})
            for _ in range(n_arguments)
        ),
    )  # fmt: skip


def _parameters(device: DeviceBuilt, record: Path) -> tuple[tuple[int, ...], ...]:
    """Bytes of each parameter, by kernel of the plan."""
    found = []
    for kernel in device.kernels:
        facts = {item.name: item for item in kernel_facts(cubin_path(record, kernel).read_bytes())}
        if kernel.function not in facts:
            raise MachineError(f"the machine code has no kernel {kernel.function}")
        found.append(tuple(item.n_bytes for item in facts[kernel.function].parameters))
    return tuple(found)


def main(arguments: list[str]) -> int:
    folder = Path(arguments[1])
    try:
        request = ProfileRequest.from_json(Path(arguments[0]).read_text())
        job = prepare(request, folder=folder, cache=Path(arguments[2]))
    except KernelEvolveError as error:
        print(error)
        return 1
    (folder / "job.json").write_text(job.to_json())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
