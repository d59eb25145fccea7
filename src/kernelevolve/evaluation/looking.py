"""After a call: guard bands, gaps between rows, inputs, outputs, in this order; the same look in the check and in the
timing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kernelevolve.evaluation.arena import Arena, Bytes, Layout
from kernelevolve.evaluation.defences import ALL, Defences
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.draws import Draw
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.tensors import gaps, same_bytes, unwritten
from kernelevolve.model.task import Task, TensorSpec
from kernelevolve.model.verdict import Outcome

AnyArena = Arena | DeviceArena


def all_right(
    task: Task, arena: DeviceArena, layout: Layout, loaded: Mapping[int, Draw], *, images: Mapping[int, torch.Tensor],
    fixed: Mapping[int, torch.Tensor], defences: Defences = ALL,
) -> bool:  # fmt: skip
    """The same look at many slots, waited for once. False: `look` at each of them says what it is. `images`: by slot,
    what it held before the call; `fixed`: by slot, 0xFF where it must hold that still."""
    flags = [arena.margins_hold()]
    for slot, draw in loaded.items():
        if slot in images:
            differs = arena.slot(slot, layout).view(torch.int64) ^ images[slot].view(torch.int64)
            flags.append(~(differs & fixed[slot].view(torch.int64)).any())
        else:
            flags += _untouched(task, arena, layout, slot, draw, defences)
        for spec in task.written if "timed_outputs" in defences else ():
            held = arena.view(slot, layout, spec.name, draw.n_bytes[spec.name])
            flags.append(draw.answers[spec.name].quick(held, honest_error="honest_error" in defences))
    return bool(torch.stack(flags).all())


def _untouched(
    task: Task, arena: DeviceArena, layout: Layout, slot: int, draw: Draw, defences: Defences
) -> list[torch.Tensor]:
    """Where nothing was kept of what a slot held before: bands, inputs and gaps, each by itself."""
    flags = [~arena.strays(slot, layout, draw.n_bytes)] if "guard_bands" in defences else []
    for spec in task.inputs if "inputs_unchanged" in defences else ():
        if spec.name in draw.contents and not spec.in_place:
            held = arena.view(slot, layout, spec.name, draw.n_bytes[spec.name])
            flags.append((held == torch.as_tensor(draw.contents[spec.name])).all())
    for spec in task.pitched if "gaps" in defences else ():
        flags.append(~gap_written(arena.view(slot, layout, spec.name, draw.n_bytes[spec.name]), spec, draw))
    return flags


def gap_written(held: Bytes, spec: TensorSpec, draw: Draw) -> Any:
    """0-dim bool: whether what lies between and behind the rows is another than before."""
    shape = draw.inputs[spec.name].shape
    before, after = (gaps(data, spec.dtype, shape) for data in (draw.contents[spec.name], held))
    return (after != (torch.as_tensor(before) if isinstance(after, torch.Tensor) else before)).any()


def look(
    task: Task, arena: AnyArena, layout: Layout, slot: int, draw: Draw, *,
    when: str = "", defences: Defences = ALL, outputs: bool = True,
) -> int:  # fmt: skip
    """Number of outputs compared in full. Raises CandidateFault. `when`: "" in the check; in a timed call no value of
    the answer is told: whoever proposes could collect them."""
    where = f"{when} (inputs: {draw.label}, shape {_words(draw)})"
    trespass = arena.trespasses(slot, layout, draw.n_bytes) if "guard_bands" in defences else None
    if trespass is not None:
        raise CandidateFault(Outcome.OUT_OF_BOUNDS, f"wrote outside {trespass}{where}")
    for spec in task.pitched if "gaps" in defences else ():
        if bool(gap_written(arena.view(slot, layout, spec.name, draw.n_bytes[spec.name]), spec, draw)):
            outcome = Outcome.UNSTABLE if when else Outcome.WRONG
            gap = f"{spec.pitch}={draw.sizes[spec.pitch]}"
            raise CandidateFault(outcome, f"wrote between the rows of {spec.name} ({gap}), which is not its own{where}")
    for spec in task.inputs:
        if spec.name in draw.contents and not spec.in_place and "inputs_unchanged" in defences:
            held = arena.view(slot, layout, spec.name, draw.n_bytes[spec.name])
            if not same_bytes(held, draw.contents[spec.name]):
                raise CandidateFault(Outcome.INPUT_CHANGED, f"input {spec.name} was changed{where}")
    if not outputs:
        return 0
    for spec in task.written:
        got = arena.view(slot, layout, spec.name, draw.n_bytes[spec.name])
        mismatch = draw.answers[spec.name].judge(got, draw.shape, honest_error="honest_error" in defences)
        if mismatch is not None:
            outcome = Outcome.UNWRITTEN if not spec.in_place and unwritten(got) else Outcome.WRONG
            if when:
                mismatch = mismatch.model_copy(update={"got": "", "expected": ""})
                outcome = Outcome.UNSTABLE if outcome is Outcome.WRONG else outcome
            share = f"{mismatch.n_wrong} of {mismatch.n_total} elements of {spec.name}"
            raise CandidateFault(outcome, f"{share} wrong{where}", mismatch=mismatch)
    return len(task.written)


def _words(draw: Draw) -> str:
    return " ".join(f"{name}={size}" for name, size in draw.shape.items()) or "fixed"
