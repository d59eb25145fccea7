"""The baselines on a GPU: called on tensors in the judge's device memory, as one graph where they can be captured.

A baseline that cannot be captured (it waits for the device, say) is launched while the device is held back, so that
what its launches cost the host shows as little as it can.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kernelevolve.evaluation.device import FLUSH_FACTOR
from kernelevolve.evaluation.device_arena import opened
from kernelevolve.evaluation.reference_server import Server
from kernelevolve.model.task import Task

QUEUE_US, QUEUE_US_PER_CALL = 1000, 60
"""What Python needs to queue a call's kernels, with room."""
CYCLES_PER_US = 2000
N_WARM = 3
Slots = tuple[int, ...]


class DeviceServer(Server):
    def __init__(self, *, task: Task, folder: Path, handle: str, n_bytes: int) -> None:
        super().__init__(task=task, folder=folder, memory=opened(handle, n_bytes), device="cuda")
        cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        n_flush = FLUSH_FACTOR * cache_bytes if task.objective.cache == "cold" else 0
        self._flush = [torch.zeros(n_flush // 4, dtype=torch.int32, device="cuda") for _ in range(2)]
        self._by_device = task.objective.clock == "device"
        self._graphs: dict[tuple[str, Slots], tuple[Any, list[Any]]] = {}
        self._single: dict[tuple[str, int], Any] = {}
        """Graphs of one call, for the outside clock: no event of ours inside."""
        self._pool: Any = None
        self._nothing = torch.zeros(1, device="cuda")
        self._uncapturable: set[str] = set()
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self._results: list[Any] = []
        torch.cuda._sleep(CYCLES_PER_US * 20_000)  # the device's clocks must have come up from idling
        torch.cuda.synchronize()  # whoever watches the device next finds nothing of ours

    def bind(self, text: str) -> None:
        super().bind(text)
        self._graphs.clear()  # they hold the addresses of before
        slot = int(text.split(maxsplit=1)[0])
        self._single = {key: graph for key, graph in self._single.items() if key[1] != slot}

    def touch(self, text: str) -> None:
        slots = tuple(int(word) for word in text.split()[1:])
        if slots and self._by_device and self._chosen not in self._uncapturable:
            self._captured(slots)
        if self._flush[0].numel():
            self._flush[0].add_(1)
            self._flush[1].sum()
        torch.cuda.synchronize()

    def run(self, text: str) -> None:
        slots = tuple(int(word) for word in text.split()[1:])
        if (found := self._graphs.get((self._chosen, slots))) is not None:
            graph, events = found
            graph.replay()
        else:
            events = self._events
            if self._by_device:
                torch.cuda._sleep(CYCLES_PER_US * (QUEUE_US + QUEUE_US_PER_CALL * len(slots)))
            events[0].record()
            self._call(slots)
            events[1].record()
        torch.cuda.synchronize()
        self._results.clear()
        self.device_us = events[0].elapsed_time(events[1]) * 1e3

    def ready(self, text: str) -> None:
        for slot in (int(word) for word in text.split()[1:]):
            key = (self._chosen, slot)
            if key in self._single or self._chosen in self._uncapturable:
                continue
            self._pool = self._pool or torch.cuda.graph_pool_handle()  # nobody needs a result when the next call runs
            graph = torch.cuda.CUDAGraph()
            if self._recorded(graph, (slot,), [], pool=self._pool):
                self._single[key] = graph
        torch.cuda.synchronize()

    def outside(self, text: str, queued: Callable[[], object]) -> None:
        """Without slots the smallest work there is: what changing over to another process costs the device is no cost
        of a call's."""
        slots = [int(word) for word in text.split()[1:]]
        begun = torch.cuda.Event()
        begun.record()
        if not slots:
            self._nothing.add_(1)
        for slot in slots:
            if (graph := self._single.get((self._chosen, slot))) is not None:
                graph.replay()
            else:
                self._call((slot,))
        while not begun.query():  # from then on, what others ask of the device comes after what is queued
            pass
        queued()
        torch.cuda.synchronize()
        self._results.clear()

    def _call(self, slots: Slots) -> None:
        """Results are kept until the end: no call writes where the one before has just written."""
        for slot in slots:
            self._results.append(self._function(self._shapes[slot])(**self._slots[slot]))

    def _captured(self, slots: Slots) -> None:
        key = (self._chosen, slots)
        if key in self._graphs:
            return
        events = [torch.cuda.Event(enable_timing=True, external=True) for _ in range(2)]
        graph = torch.cuda.CUDAGraph()
        if self._recorded(graph, slots, events):
            self._graphs[key] = (graph, events)

    def _recorded(self, graph: Any, slots: Slots, events: list[Any], *, pool: Any = None) -> bool:
        """Whether these calls could be captured, with the events around them. Runs the first one to warm up."""
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(N_WARM):
                    self._call(slots[:1])
            torch.cuda.synchronize()
            self._results.clear()
            with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
                for event in events[:1]:
                    event.record()
                self._call(slots)
                for event in events[1:]:
                    event.record()
        except (RuntimeError, ValueError) as error:
            if "captur" not in str(error):
                raise
            self._uncapturable.add(self._chosen)
            torch.cuda.synchronize()
            return False
        finally:
            self._results.clear()
        return True
