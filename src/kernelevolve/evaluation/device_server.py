"""The baselines on a GPU: called on tensors in the judge's device memory, as one graph where they can be captured.

A baseline that cannot be captured (it waits for the device, say) is launched while the device is held back, so that
what its launches cost the host shows as little as it can.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from kernelevolve.evaluation.device_arena import opened
from kernelevolve.evaluation.reference_server import Server
from kernelevolve.model.task import Task

QUEUE_US, QUEUE_US_PER_CALL = 1000, 60
"""What Python needs to queue a call's kernels, with room."""
CYCLES_PER_US = 2000
FLUSH_FACTOR = 3
"""Times the second-level cache that is written, then read, to make it forget."""
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
        self._uncapturable: set[str] = set()
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self._results: list[Any] = []
        torch.cuda._sleep(CYCLES_PER_US * 20_000)  # the device's clocks must have come up from idling

    def bind(self, text: str) -> None:
        super().bind(text)
        self._graphs.clear()  # they hold the addresses of before

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
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(N_WARM):
                    self._call(slots[:1])
            torch.cuda.synchronize()
            self._results.clear()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                events[0].record()
                self._call(slots)
                events[1].record()
        except (RuntimeError, ValueError) as error:
            if "captur" not in str(error):
                raise
            self._uncapturable.add(self._chosen)
            torch.cuda.synchronize()
            return
        finally:
            self._results.clear()
        self._graphs[key] = (graph, events)
