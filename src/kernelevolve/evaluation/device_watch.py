"""Seeing from inside whether the device works for anybody else: a kernel of ours that does nothing but read its timer.

The work of different processes takes turns on a device. While the judge's own context is busy, whatever else gets a
turn leaves a gap in what this kernel reads. It must run longer than one turn (2 ms), or nothing would show.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from kernelevolve.errors import MachineError

GAP_NS = 100_000
"""An undisturbed kernel sees gaps below 1 us, a turn of somebody else's takes more than two switches of 140 us."""
AT_LEAST_NS = 5_000_000
"""More than two turns, after all is done that was to be watched: what waited for a part of it shows as well."""
AT_MOST_NS = 20_000_000_000
"""The end of the watch, told or not: a judge that waits for the whole device meanwhile would wait for ever."""
STREAM_NON_BLOCKING = 1
STARTED, WORST, COUNT, ELAPSED = range(4)

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry ke_watch(
    .param .u64 told, .param .u64 token, .param .u64 report, .param .u64 at_least, .param .u64 at_most, .param .u64 gap)
{
    .reg .b64 %t<16>;
    .reg .pred %p<5>;
    ld.param.u64 %t0, [told];
    ld.param.u64 %t1, [token];
    ld.param.u64 %t2, [report];
    ld.param.u64 %t3, [at_least];
    ld.param.u64 %t4, [at_most];
    ld.param.u64 %t5, [gap];
    mov.u64 %t7, 0;
    mov.u64 %t8, 0;
    mov.u64 %t12, 0;
    mov.u64 %t14, 0;
    mov.u64 %t6, %globaltimer;
    mov.u64 %t9, %t6;
    st.volatile.global.u64 [%t2], %t1;
    membar.sys;
again:
    mov.u64 %t10, %globaltimer;
    sub.s64 %t11, %t10, %t9;
    mov.u64 %t9, %t10;
    max.s64 %t7, %t7, %t11;
    setp.gt.s64 %p0, %t11, %t5;
    @%p0 add.s64 %t8, %t8, 1;
    sub.s64 %t12, %t10, %t6;
    setp.ge.s64 %p1, %t12, %t4;
    @%p1 bra over;
    setp.ne.s64 %p2, %t14, 0;
    @%p2 bra is_told;
    ld.volatile.global.u64 %t13, [%t0];
    setp.ne.s64 %p3, %t13, %t1;
    @%p3 bra again;
    mov.u64 %t14, %t10;
is_told:
    sub.s64 %t15, %t10, %t14;
    setp.lt.s64 %p4, %t15, %t3;
    @%p4 bra again;
over:
    st.volatile.global.u64 [%t2+8], %t7;
    st.volatile.global.u64 [%t2+16], %t8;
    st.volatile.global.u64 [%t2+24], %t12;
    membar.sys;
    ret;
}
"""


@dataclass(kw_only=True)
class Watch:
    """What was seen; filled in when the watch has ended."""

    worst_gap_ns: int = 0
    n_gaps: int = 0


class CudaWatch:
    """The kernel, made ready once. It is told its number when it starts and ends a while after that number lies in
    `told`, which work on the main stream puts there: behind everything that was queued on it during the watch."""

    def __init__(self) -> None:
        torch.empty(1, device="cuda")  # the context all of torch works in is current now
        self._driver = ctypes.CDLL("libcuda.so.1")
        module, self._kernel, self._stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self._do("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(PTX))
        self._do("cuModuleGetFunction", ctypes.byref(self._kernel), module, ctypes.c_char_p(b"ke_watch"))
        self._do("cuStreamCreate", ctypes.byref(self._stream), ctypes.c_uint(STREAM_NON_BLOCKING))
        self._told = torch.zeros(1, dtype=torch.int64, device="cuda")
        self._report = torch.zeros(4, dtype=torch.int64).pin_memory()  # the device writes it where the host reads it
        self._seen: Any = self._report.numpy()
        self._token = 0
        with self.watched(at_least_ns=0):  # code is loaded when it first runs, and loading may wait for the device
            pass

    @contextmanager
    def watched(self, at_least_ns: int = AT_LEAST_NS) -> Iterator[Watch]:
        """Within, work goes to the current stream, and nothing may wait for the whole device or run for the first
        time. Raises MachineError."""
        watch = Watch()
        # What is to stay in the cache by request: asked for before, since it may wait for what runs.
        torch.cuda.synchronize()
        self._do("cuCtxResetPersistingL2Cache")
        self._launch(at_least_ns)
        try:
            self._wait_for_start()
            yield watch
        finally:
            self._told.fill_(self._token)
            self._do("cuStreamSynchronize", self._stream)
        if int(self._seen[ELAPSED]) >= AT_MOST_NS:
            raise MachineError(
                f"the device was not made ready within {AT_MOST_NS / 1e9:.0f} s: something waited for the watch to end"
            )
        watch.worst_gap_ns, watch.n_gaps = int(self._seen[WORST]), int(self._seen[COUNT])

    def _launch(self, at_least_ns: int) -> None:
        self._token += 1
        numbers = (
            self._told.data_ptr(), self._token, self._report.data_ptr(), at_least_ns, AT_MOST_NS, GAP_NS
        )  # fmt: skip
        held = [ctypes.c_uint64(number) for number in numbers]
        given = (ctypes.c_void_p * len(held))(*(ctypes.addressof(one) for one in held))
        ones = [ctypes.c_uint(1) for _ in range(6)]
        self._do("cuLaunchKernel", self._kernel, *ones, ctypes.c_uint(0), self._stream, given, None)

    def _wait_for_start(self) -> None:
        deadline = time.monotonic() + AT_MOST_NS / 1e9
        while int(self._seen[STARTED]) != self._token:
            if time.monotonic() > deadline:
                raise MachineError("the device does not start a kernel of the judge's: it is somebody else's all along")

    def _do(self, name: str, *given: Any) -> None:
        if (code := getattr(self._driver, name)(*given)) != 0:
            raise MachineError(f"watching the device failed: {name} gives CUDA error {code}")
