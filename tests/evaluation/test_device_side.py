"""What a kernel could find in the judge's device memory while it is timed, and what happens to those that use it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelevolve.evaluation.bench import Bench
from kernelevolve.evaluation.channel import Arguments
from kernelevolve.evaluation.defences import Defences
from kernelevolve.evaluation.device import HostDevice
from kernelevolve.evaluation.device_arena import DeviceArena
from kernelevolve.evaluation.device_side import DeviceSide
from kernelevolve.evaluation.draws import joint_layout, make_draw
from kernelevolve.evaluation.fault import CandidateFault
from kernelevolve.evaluation.freezer import Window
from kernelevolve.evaluation.pitches import Gaps
from kernelevolve.evaluation.stages.measure import Samples, shared_work
from kernelevolve.evaluation.task_module import TaskModule
from kernelevolve.model.task import Task
from kernelevolve.tasks import load_task

SHAPE = {"R": 8, "C": 16}
TASKS = Path(__file__).parents[1] / "attacks" / "tasks"
Tensors = list[torch.Tensor]
Kernel = Callable[[Tensors], None]


class InProcess:
    """A caller whose kernel is a function of this process: it gets the tensors of one slot."""

    core = None

    def __init__(self, arena: DeviceArena, kernel: Kernel, sizes: Sequence[int]) -> None:
        self.bound: dict[int, Arguments] = {}
        self._arena, self._kernel, self._sizes = arena, kernel, sizes

    def bind(self, slots: Mapping[int, Arguments], *, timeout_s: float) -> None:
        self.bound |= slots

    def touch(self, slots: Sequence[int], *, timeout_s: float) -> None:
        return

    def ready(self, slots: Sequence[int], *, timeout_s: float) -> None:
        return

    def outside(self, slots: Sequence[int], *, timeout_s: float, look: Callable[[], None]) -> Window:
        raise NotImplementedError

    def run(self, slots: Sequence[int], *, timeout_s: float, glance: Callable[[], Any] | None = None) -> Window:
        for slot in slots:
            at = self.bound[slot].offsets
            starts = zip(at, self._sizes, strict=True)
            self._kernel([self._arena.bytes[first : first + 4 * n].view(torch.float32) for first, n in starts])
        return Window(reply="", seconds=1e-4, cpu_s=0.0, open_s=1e-4, device_s=1e-5 * len(slots))


def row_scale(tensors: Tensors) -> None:
    x, w, y = tensors
    y.copy_((x.view(8, 16) * w + 1).view(-1))


@pytest.fixture
def row_scale_on_device() -> Task:
    return load_task(str(TASKS / "row_scale"), platform="cuda")


@pytest.fixture
def bench(cache: Path, row_scale_on_device: Task) -> Iterator[Bench]:
    bench = Bench(row_scale_on_device, n_threads=1, cache=cache, device=HostDevice())
    bench.use("s")
    yield bench
    bench.close()


def sampled(bench: Bench, kernel: Kernel, n_samples: int = 12) -> DeviceSide:
    """Timed as a candidate is. Raises CandidateFault."""
    layout, n_slots = bench.exam.layout(SHAPE)
    assert bench._device is not None  # noqa: SLF001
    arena = DeviceArena(layout.n_bytes * (n_slots + 1), bench._device)  # noqa: SLF001
    arena.wipe()
    side = bench.side("candidate", InProcess(arena, kernel, (128, 16, 128)), arena, SHAPE)
    assert isinstance(side, DeviceSide)
    feed, rng = bench.exam.feed(SHAPE), random.Random(3)
    try:
        side.calibrate(feed, timeout_s=1.0)
        for _ in range(n_samples):
            side.sample(feed.take(side.n_calls + 1), side.slots(rng), timeout_s=1.0)
    finally:
        arena.close()
    return side


def test_an_honest_kernel_is_called_on_every_slot_but_one(bench: Bench) -> None:
    side = sampled(bench, row_scale)
    assert side.n_calls == 32
    assert side.n_checks > 12 * 32


def test_whoever_computes_the_slots_it_knows_ahead_computes_one_too_many(bench: Bench) -> None:
    """All it ever touches are slots on which it was once called, and which wait for an answer."""
    known: dict[int, Tensors] = {}

    def batch(tensors: Tensors) -> None:
        known[tensors[2].data_ptr()] = tensors
        if not tensors[2].isnan().all():
            return
        for slot in known.values():
            if slot[2].isnan().all():
                row_scale(slot)

    with pytest.raises(CandidateFault, match="wrote y of a slot it was not called on"):
        sampled(bench, batch)


def past_the_end(tensors: Tensors) -> None:
    row_scale(tensors)
    y = tensors[2]
    torch.as_strided(y, (1,), (1,), y.storage_offset() + y.numel()).fill_(1.0)


def into_an_input(tensors: Tensors) -> None:
    row_scale(tensors)
    tensors[0][7] += 1


@pytest.mark.parametrize("kept_whole", [True, False], ids=["slots looked at whole", "tensor by tensor"])
@pytest.mark.parametrize(
    ("kernel", "words"), [(past_the_end, "wrote outside y in a timed call"), (into_an_input, "input x was changed")]
)
def test_what_a_timed_call_must_not_touch(
    cache: Path, row_scale_on_device: Task, kernel: Kernel, words: str, kept_whole: bool
) -> None:
    defences = Defences() if kept_whole else Defences(without=("glance",))
    bench = Bench(row_scale_on_device, n_threads=1, cache=cache, device=HostDevice(), defences=defences)
    bench.use("s")
    with pytest.raises(CandidateFault, match=words):
        sampled(bench, kernel, n_samples=1)
    bench.close()


@pytest.mark.parametrize("kept_whole", [True, False], ids=["slots looked at whole", "tensor by tensor"])
def test_gaps_between_rows_are_looked_at_in_every_timed_call(cache: Path, kept_whole: bool) -> None:
    """Timed draws have none today; should they ever, who writes there is found as in the check."""
    task = load_task(str(TASKS / "pool_decay"), platform="cuda")
    module = TaskModule(task, cache / "pool_decay")
    draws = [
        make_draw(module, SHAPE, secret="s", label=f"n{index}", variant="nominal", gaps=Gaps(seed="s", always=True))
        for index in range(12)
    ]
    pitch = draws[0].sizes["SP"]
    layout = joint_layout(draws)
    arena = DeviceArena(layout.n_bytes * 13, HostDevice())
    sizes = [draws[0].n_bytes[name] // 4 for name in layout.regions]

    def decay(tensors: Tensors, *, gap: float | None = None) -> None:
        state, x, a, w, y = tensors
        rows = state.view(8, -1)
        rows[:, :16] = rows[:, :16] * a[:, None] + x.view(8, -1)[:, :16]
        y.copy_((rows[:, :16] * w).view(-1))
        if gap is not None:
            rows[3, pitch - 1] = gap

    def side(kernel: Kernel) -> DeviceSide:
        return DeviceSide(
            name="candidate", caller=InProcess(arena, kernel, sizes), arena=arena, task=task, layout=layout,
            n_slots=12, n_threads=1, trusted=False, device=HostDevice(),
            defences=Defences() if kept_whole else Defences(without=("glance",)),
        )  # fmt: skip

    assert pitch > 16
    arena.wipe()
    side(decay).sample(draws, list(range(13)), timeout_s=1.0)
    with pytest.raises(CandidateFault, match="wrote between the rows of state"):
        side(partial(decay, gap=float("nan"))).sample(draws, list(range(13)), timeout_s=1.0)
    arena.close()


def test_no_slot_tells_by_its_content_that_it_is_the_decoy(bench: Bench) -> None:
    """Each looks like one that is called: no content comes twice in what a kernel has seen."""
    seen: list[bytes] = []
    sampled(bench, lambda tensors: (seen.append(tensors[0].numpy().tobytes()), row_scale(tensors))[1], n_samples=4)
    assert len(set(seen)) == len(seen)


def test_a_baseline_leaves_no_answer_behind(cache: Path) -> None:
    """What it wrote in place belongs to the content that the candidate is called on next."""
    task: Task = load_task(str(TASKS / "decay_state"), platform="cuda")
    bench = Bench(task, n_threads=1, cache=cache, device=HostDevice())
    bench.use("s")
    layout, n_slots = bench.exam.layout(SHAPE)
    arena = DeviceArena(layout.n_bytes * (n_slots + 1), HostDevice())
    arena.wipe()

    def reference(tensors: Tensors) -> None:
        state, x, a, _, _ = tensors
        state.copy_((state.view(8, 16) * a[:, None] + x.view(8, 16)).view(-1))

    caller = InProcess(arena, reference, (128, 128, 8, 16, 128))
    side = bench.side("eager", caller, arena, SHAPE, trusted=True)
    draw = bench.exam.feed(SHAPE).take(1)[0]
    side.calibrate(bench.exam.feed(SHAPE), timeout_s=1.0)
    side.sample([draw], [5, 0], timeout_s=1.0)
    held = arena.view(0, layout, "state", draw.n_bytes["state"])
    assert (held == 0xFF).all()
    arena.close()
    bench.close()


def test_whoever_is_fast_only_among_other_calls_shares_work_between_them() -> None:
    def samples(mine: float, alone: float) -> Samples:
        return Samples(
            candidate=[[mine] * 9], baselines={"eager": [[20e-6] * 9]},
            alone={"candidate": [alone] * 7, "eager": [23e-6] * 7},
        )  # fmt: skip

    assert shared_work(samples(10e-6, 14e-6), "candidate") is None
    assert shared_work(samples(10e-6, 12e-6), "candidate") is None
    assert "17.0 us alone and 5.0 us among others" in str(shared_work(samples(5e-6, 17e-6), "candidate"))
    assert shared_work(Samples(candidate=[[1e-6]]), "candidate") is None, "a screen does not look"
