"""From a launch plan and one slot's arguments to the numbers our runner launches with."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from kernelevolve.evaluation.arena import tensor_specs
from kernelevolve.evaluation.channel import Arguments
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.model.launch import Argument, LaunchPlan, evaluate
from kernelevolve.model.task import FLOAT_DTYPES, Task
from kernelevolve.model.verdict import Outcome
from kernelevolve.toolchains.abi import is_scalar

MAX_SIZE = 2**32 - 1
"""What the driver's launch call can say; what a device takes is less, and it says so itself."""


def line(slot: int, arguments: Arguments, plan: LaunchPlan, task: Task, *, memory_bytes: int) -> bytes:
    """The "A" line of the runner's protocol. Raises CandidateFault: a plan that cannot be launched at these sizes."""
    sizes, values = _named(arguments, task)
    known = plan.known_sizes(sizes)
    scratch = [_size(item.bytes, known, f"scratch {item.name}", low=0, high=2**63) for item in plan.scratch]
    if sum(scratch) > memory_bytes:
        raise _refused(f"{sum(scratch)} bytes of scratch; the limit is {memory_bytes}", sizes)
    values |= {item.name: f"S {index}" for index, item in enumerate(plan.scratch)}
    words = [f"A {slot} {arguments.start} {arguments.n_bytes} {len(scratch)}", *map(str, scratch)]
    words.append(str(len(plan.launch)))
    for number, launch in enumerate(plan.launch, 1):
        where = f"launch {number} ({launch.kernel})"
        words.append(str(plan.kernels.index(launch.kernel)))
        words += [str(_size(text, known, where, low=1, high=MAX_SIZE)) for text in (*launch.grid, *launch.block)]
        words.append(str(_size(launch.shared_bytes, known, where, low=0, high=MAX_SIZE)))
        words.append(str(len(launch.args)))
        words += [values.get(item.what) or _number(item, known, where) for item in launch.arguments]
    return (" ".join(words) + "\n").encode()


def _named(arguments: Arguments, task: Task) -> tuple[dict[str, int], dict[str, str]]:
    """(sizes by axis, tensors and scalars by name as the runner reads them)."""
    scalars = [spec for spec in task.inputs if is_scalar(spec)]
    whole = [spec.name for spec in scalars if spec.dtype not in FLOAT_DTYPES]
    real = [spec.name for spec in scalars if spec.dtype in FLOAT_DTYPES]
    sizes = dict(zip((axis.name for axis in task.axes), arguments.integers[len(whole) :], strict=True))
    specs = tensor_specs(task.inputs, task.outputs)
    values = {spec.name: f"P {offset}" for spec, offset in zip(specs, arguments.offsets, strict=True)}
    values |= {name: f"I {value}" for name, value in zip(whole, arguments.integers, strict=False)}
    values |= {
        name: f"D {int.from_bytes(struct.pack('<d', value), 'little')}"
        for name, value in zip(real, arguments.reals, strict=True)
    }
    return sizes, values


def _number(item: Argument, sizes: Mapping[str, int], where: str) -> str:
    """What an argument claims of a number is held against every shape: machine code was made for it."""
    bits = 31 if item.width == "i32" else 63
    value = _size(item.what, sizes, where, low=-(2**bits), high=2**bits - 1)
    if value % item.multiple:
        raise _refused(
            f"{where}: '{item.what}' is {value}, no multiple of {item.multiple} as it was compiled for", sizes
        )
    return f"I {value}"


def _size(text: str, sizes: Mapping[str, int], where: str, *, low: int, high: int) -> int:
    try:
        value = evaluate(text, sizes)
    except ValueError as error:
        raise _refused(f"{where}: {error}", sizes) from None
    if not low <= value <= high:
        raise _refused(f"{where}: '{text}' is {value}, must be {low}..{high}", sizes)
    return value


def _refused(what: str, sizes: Mapping[str, int]) -> CandidateFault:
    shape = " ".join(f"{name}={size}" for name, size in sizes.items())
    return CandidateFault(Outcome.REFUSED, f"launch.toml asks for {what} (shape {shape})")
