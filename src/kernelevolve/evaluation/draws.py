"""A Draw: one set of inputs with the answer, as the bytes that go into an arena. Draws never leave the judge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from kernelevolve.evaluation.arena import Bytes, Layout, tensor_specs
from kernelevolve.evaluation.channel import Arguments
from kernelevolve.evaluation.compare import Answer
from kernelevolve.evaluation.task_module import Inputs, TaskModule
from kernelevolve.evaluation.tensors import tensor_bytes
from kernelevolve.model.task import FLOAT_DTYPES, Shape, Task, bytes_of
from kernelevolve.toolchains.abi import is_scalar


@dataclass(frozen=True, kw_only=True)
class Draw:
    """`contents`: bytes of each tensor input. `n_bytes`: size of every tensor that travels as a pointer."""

    shape: Shape
    label: str
    inputs: Inputs
    answers: dict[str, Answer]
    sizes: dict[str, int]
    contents: dict[str, Bytes]
    n_bytes: dict[str, int]

    def arguments(self, task: Task, layout: Layout, slot: int) -> Arguments:
        """The ABI's arguments for this draw in a slot."""
        start = slot * layout.n_bytes
        offsets = [start + layout.regions[spec.name].offset for spec in tensor_specs(task.inputs, task.outputs)]
        scalars = [spec for spec in task.inputs if is_scalar(spec)]
        integers = [self.inputs[spec.name] for spec in scalars if spec.dtype not in FLOAT_DTYPES]
        integers += [self.sizes[axis.name] for axis in task.axes]
        reals = [self.inputs[spec.name] for spec in scalars if spec.dtype in FLOAT_DTYPES]
        return Arguments(
            start=start, n_bytes=layout.n_bytes, offsets=tuple(offsets), integers=tuple(integers), reals=tuple(reals)
        )

    def outputs(self, task: Task) -> dict[str, int]:
        """Bytes of the pure outputs, the ones to be poisoned."""
        return {spec.name: self.n_bytes[spec.name] for spec in task.outputs}

    @property
    def bytes_moved(self) -> int:
        """Inputs read once, outputs written once; an in-place tensor counts for both."""
        return sum(self.n_bytes.values()) + sum(self.n_bytes[name] for name in self.answers if name in self.contents)


def make_draw(module: TaskModule, shape: Shape, *, secret: str, label: str, variant: str, scale: float) -> Draw:
    """Deterministic in (task, shape, secret, label). Raises TaskError; ValueError when the generator refuses."""
    task = module.task
    seed = int.from_bytes(
        hashlib.sha256(f"{secret}|{task.content_id}|{sorted(shape.items())}|{label}".encode()).digest()[:7]
    )
    inputs = module.make_inputs(shape, seed=seed, variant=variant, scale=scale)
    expected = module.expected(inputs, shape)
    sizes = module.bind_sizes(shape, inputs, expected)
    contents = {spec.name: tensor_bytes(inputs[spec.name]) for spec in task.inputs if not is_scalar(spec)}
    n_bytes = {spec.name: bytes_of((spec,), sizes) for spec in tensor_specs(task.inputs, task.outputs)}
    answers = {spec.name: Answer(spec, expected[spec.name], task.rule) for spec in task.written}
    return Draw(
        shape=shape, label=label, inputs=inputs, answers=answers, sizes=sizes, contents=contents, n_bytes=n_bytes
    )


def joint_layout(draws: list[Draw]) -> Layout:
    """A layout in which every one of the draws fits."""
    names = draws[0].n_bytes
    return Layout.of({name: max(draw.n_bytes[name] for draw in draws) for name in names})


def labels(module: TaskModule) -> Iterator[tuple[str, str, float]]:
    """(label, variant, scale) of every input distribution the task is judged on, the nominal one first."""
    for variant in module.variants:
        yield variant, variant, 1.0
    for scale in module.scales:
        yield f"x{scale:g}", module.variants[0], scale


def edge_shapes(task: Task) -> list[Shape]:
    """Small shapes at the corners of the declared domain: one odd-sized, and one per axis at its lower end."""
    axes = [axis for axis in task.axes if axis.role == "shape"]
    if not axes:
        return []
    smallest = min(task.shapes.shown, key=lambda shape: _volume(task, shape))
    base: Shape = {}
    for index, axis in enumerate(axes):
        wanted = (5, 7, 3, 11, 9, 13, 17)[index % 7]
        size = -(-max(axis.low, min(wanted, smallest[axis.name])) // axis.multiple_of) * axis.multiple_of
        base[axis.name] = size if axis.admits(size) else smallest[axis.name]
    shapes = [base]
    for axis in axes:
        low = -(-axis.low // axis.multiple_of) * axis.multiple_of
        if axis.admits(low) and low != base[axis.name]:
            shapes.append({**base, axis.name: low})
    return shapes


def _volume(task: Task, shape: Shape) -> int:
    """A rough size for ordering: the axes' product."""
    volume = 1
    for size in shape.values():
        volume *= max(size, 1)
    return volume
