"""A Draw: one set of inputs with the answer, as the bytes that go into an arena. Draws never leave the judge."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from kernelevolve.evaluation.arena import Bytes, Layout, tensor_specs
from kernelevolve.evaluation.channel import Arguments
from kernelevolve.evaluation.compare import Answer
from kernelevolve.evaluation.defences import ALL, Defences
from kernelevolve.evaluation.pitches import Gaps, drawn, padded
from kernelevolve.evaluation.task_module import Inputs, TaskModule
from kernelevolve.evaluation.tensors import tensor_bytes
from kernelevolve.model.task import FLOAT_DTYPES, Shape, Task, bytes_of, evaluate_dim, held_bytes_of
from kernelevolve.toolchains.abi import is_scalar


@dataclass(frozen=True, kw_only=True)
class Draw:
    """`contents`: bytes of each tensor input, gaps between rows included. `n_bytes`: size of every tensor that travels
    as a pointer, likewise. `inputs` are contiguous."""

    shape: Shape
    label: str
    inputs: Inputs
    answers: dict[str, Answer]
    sizes: dict[str, int]
    contents: dict[str, Bytes]
    n_bytes: dict[str, int]
    images: dict[object, torch.Tensor] = field(default_factory=dict, repr=False, compare=False)
    """Whole slots with this in them, by layout, kept by whoever fills many."""

    def arguments(self, task: Task, layout: Layout, slot: int) -> Arguments:
        """The ABI's arguments for this draw in a slot."""
        offsets = [layout.start(slot, spec.name) for spec in tensor_specs(task.inputs, task.outputs)]
        scalars = [spec for spec in task.inputs if is_scalar(spec)]
        integers = [self.inputs[spec.name] for spec in scalars if spec.dtype not in FLOAT_DTYPES]
        integers += [self.sizes[axis.name] for axis in task.axes]
        reals = [self.inputs[spec.name] for spec in scalars if spec.dtype in FLOAT_DTYPES]
        return Arguments(
            start=slot * layout.n_bytes,
            n_bytes=layout.n_bytes,
            offsets=tuple(offsets),
            integers=tuple(integers),
            reals=tuple(reals),
        )

    def outputs(self, task: Task) -> dict[str, int]:
        """Bytes of the pure outputs, the ones to be poisoned."""
        return {spec.name: self.n_bytes[spec.name] for spec in task.outputs}

    @property
    def held_bytes(self) -> int:
        """Memory this takes in the judge, roughly: contents, and two float32 bounds for each element of an answer."""
        return sum(data.nbytes for data in self.contents.values()) + sum(a.held_bytes for a in self.answers.values())

    def bytes_moved(self, task: Task) -> int:
        """What the task says a call must move; else inputs read once, outputs written once, in-place ones both."""
        return moved_bytes(task, self.sizes)


def moved_bytes(task: Task, sizes: Mapping[str, int]) -> int:
    """Elements alone: gaps between rows are nobody's to move."""
    if task.traffic:
        return evaluate_dim(task.traffic, sizes)
    updated = tuple(spec for spec in task.inputs if spec.in_place)
    return bytes_of((*tensor_specs(task.inputs, task.outputs), *updated), sizes)


def make_draw(
    module: TaskModule, shape: Shape, *, secret: str, label: str, variant: str, scale: float = 1.0, twist: str = "",
    slim: bool = False, gaps: Gaps | None = None,
) -> Draw:  # fmt: skip
    """Deterministic in (task, shape, secret, label, gaps). `slim`: keeps half as much memory, computes the oracle again
    where an answer is close. `gaps`: between rows, where the task has pitches; none where it is None. Raises TaskError;
    ValueError when the generator refuses."""
    task = module.task
    seed = int.from_bytes(
        hashlib.sha256(f"{secret}|{module.task_id}|{sorted(shape.items())}|{label}".encode()).digest()[:7]
    )
    inputs = twisted(task, module.make_inputs(shape, seed=seed, variant=variant, scale=scale), twist, seed)
    if gaps is not None:
        gaps = Gaps(seed=f"{secret}|{module.task_id}|{sorted(shape.items())}|{gaps.seed}", always=gaps.always)
    return answered(module, shape, inputs, label=label, slim=slim, gaps=gaps, seed=seed)


def answered(
    module: TaskModule, shape: Shape, inputs: Inputs, *, label: str, slim: bool = False, gaps: Gaps | None = None,
    seed: int = 0,
) -> Draw:  # fmt: skip
    """Inputs with what they must lead to. `seed`: of what gaps hold."""
    task = module.task
    expected = module.expected(inputs, shape)
    honest = module.honest(inputs, shape) if task.rule.kind == "scaled" else {}
    sizes = module.bind_sizes(shape, inputs, expected)
    sizes |= drawn(task, inputs, gaps)
    contents = {
        spec.name: padded(inputs[spec.name], spec, sizes[spec.pitch], seed=seed + index) if spec.pitch
        else tensor_bytes(inputs[spec.name])
        for index, spec in enumerate(task.inputs) if not is_scalar(spec)
    }  # fmt: skip
    n_bytes = {spec.name: held_bytes_of(spec, sizes) for spec in tensor_specs(task.inputs, task.outputs)}
    answers = {}
    for spec in task.written:
        again = (lambda name=spec.name: module.expected(inputs, shape)[name]) if slim else None
        answers[spec.name] = Answer(spec, expected[spec.name], task.rule, honest=honest.get(spec.name), again=again)
    return Draw(
        shape=shape, label=label, inputs=inputs, answers=answers, sizes=sizes, contents=contents, n_bytes=n_bytes
    )


TWISTS = ("mixed", "spikes")
MIXED_FACTOR, SPIKE_FACTOR, N_SPIKES = 8.0, 30.0, 3


def twisted(task: Task, inputs: Inputs, twist: str, seed: int) -> Inputs:
    """The same inputs with floating tensors made uneven at places nobody can foresee. mixed: from a random position on
    they are `MIXED_FACTOR` times as large, so that no prefix tells the scale. spikes: `N_SPIKES` single elements are
    `SPIKE_FACTOR` times as large, so that no element may be left out."""
    if not twist:
        return inputs
    rng = torch.Generator().manual_seed(seed ^ 0x5EED)  # a few numbers, wherever the tensors are
    changed = dict(inputs)
    for spec in task.inputs:
        if not spec.dims or spec.dtype not in FLOAT_DTYPES or spec.static or not inputs[spec.name].numel():
            continue
        flat = inputs[spec.name].clone().reshape(-1)
        if twist == "mixed":
            flat[int(torch.randint(flat.numel(), (1,), generator=rng)) :] *= MIXED_FACTOR
        else:
            flat[torch.randint(flat.numel(), (N_SPIKES,), generator=rng).to(flat.device)] *= SPIKE_FACTOR
        changed[spec.name] = flat.reshape(inputs[spec.name].shape)
    return changed


def joint_layout(draws: list[Draw], *, margin: float = 1.0) -> Layout:
    """A layout in which every one of the draws fits, with room for others where `margin` is above 1."""
    names = draws[0].n_bytes
    return Layout.of({name: int(max(draw.n_bytes[name] for draw in draws) * margin) for name in names})


def fits(draw: Draw, layout: Layout) -> bool:
    return all(n_bytes <= layout.regions[name].n_bytes for name, n_bytes in draw.n_bytes.items())


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """One way to draw inputs. `label` names it; the nominal one comes first."""

    label: str
    variant: str
    scale: float = 1.0
    twist: str = ""


def distributions(module: TaskModule, defences: Defences = ALL) -> list[Distribution]:
    """Every input distribution the task is judged on, the nominal one first. A task that takes scaled inputs takes
    unevenly scaled ones."""
    first = module.variants[0]
    variants = module.variants if "variants" in defences else module.variants[:1]
    found = [Distribution(label=variant, variant=variant) for variant in variants]
    if "scales" in defences:
        found += [Distribution(label=f"x{scale:g}", variant=first, scale=scale) for scale in module.scales]
        found += [Distribution(label=twist, variant=first, twist=twist) for twist in TWISTS if module.scales]
    return found


def edge_shapes(task: Task) -> list[Shape]:
    """Small shapes at the corners of the declared domain: one odd-sized, and one per axis at its lower end. An axis
    that is 1 on every listed shape is not 1 here: what a kernel leaves out there must show."""
    axes = [axis for axis in task.axes if axis.role == "shape"]
    if not axes:
        return []
    smallest = min(task.shapes.shown, key=lambda shape: _volume(task, shape))
    base: Shape = {}
    for index, axis in enumerate(axes):
        wanted = (5, 7, 3, 11, 9, 13, 17)[index % 7]
        size = -(-max(axis.low, wanted) // axis.multiple_of) * axis.multiple_of
        base[axis.name] = size if axis.admits(size) else smallest[axis.name]
    shapes = [base]
    for axis in axes:
        low = -(-axis.low // axis.multiple_of) * axis.multiple_of
        if axis.admits(low) and low != base[axis.name]:
            shapes.append({**base, axis.name: low})
    return shapes


def small_shapes(module: TaskModule) -> list[Shape]:
    """Edge shapes that the generator takes. Where axes are coupled it refuses odd sizes of all of them at once: then
    one axis at a time is odd, or at its lower end, and the others are as in the smallest shape that is shown."""
    task = module.task
    found = [shape for shape in edge_shapes(task) if _taken(module, shape)]
    if found or not edge_shapes(task):
        return found
    smallest = min(task.shapes.shown, key=lambda shape: _volume(task, shape))
    odd = edge_shapes(task)[0]
    singles = [{**smallest, name: shape[name]} for shape in (odd, *edge_shapes(task)[1:]) for name in smallest]
    for shape in singles:
        if shape != smallest and shape not in found and _taken(module, shape):
            found.append(shape)
    return found


def _taken(module: TaskModule, shape: Shape) -> bool:
    try:
        module.make_inputs(shape, seed=0, variant=module.variants[0])
    except ValueError:
        return False
    return True


def _volume(task: Task, shape: Shape) -> int:
    """A rough size for ordering: the axes' product."""
    volume = 1
    for size in shape.values():
        volume *= max(size, 1)
    return volume
