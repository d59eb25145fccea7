"""Measures a GPU's copy rates: prints "copy_gb_per_s cached_copy_gb_per_s", bytes read plus bytes written.

Best of several: a ceiling is what the device can do. The copying kernel is text that the driver compiles; it passes by
the first-level cache, whose content does not outlive a launch.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from kernelevolve.toolchains.libcuda import LIBRARY, gpu

BEYOND_BYTES, N_BEYOND = 2**30, 4
"""Far beyond any cache, so often in one launch."""
N_RESIDENT = 200
N_ROUNDS, THREADS, BLOCKS_PER_CORE = 6, 256, 8
COPY_PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry ke_copy(.param .u64 to, .param .u64 from, .param .u64 bytes, .param .u64 times)
{
    .reg .u64 %a<12>;
    .reg .u32 %r<8>;
    .reg .pred %p<2>;
    ld.param.u64 %a0, [to];
    ld.param.u64 %a1, [from];
    ld.param.u64 %a2, [bytes];
    ld.param.u64 %a3, [times];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %nctaid.x;
    mad.lo.u32 %r0, %r0, %r1, %r2;
    mul.wide.u32 %a4, %r0, 16;
    mul.lo.u32 %r3, %r3, %r1;
    mul.wide.u32 %a5, %r3, 16;
again:
    mov.u64 %a6, %a4;
next:
    setp.ge.u64 %p0, %a6, %a2;
    @%p0 bra finished;
    add.u64 %a7, %a1, %a6;
    add.u64 %a8, %a0, %a6;
    ld.global.cg.v4.u32 {%r4, %r5, %r6, %r7}, [%a7];
    st.global.cg.v4.u32 [%a8], {%r4, %r5, %r6, %r7};
    add.u64 %a6, %a6, %a5;
    bra next;
finished:
    sub.u64 %a3, %a3, 1;
    setp.ne.u64 %p1, %a3, 0;
    @%p1 bra again;
    ret;
}
"""


def main() -> int:
    found = gpu()
    if found is None:
        print("no GPU")
        return 1
    library = ctypes.CDLL(LIBRARY)
    context, module, copy = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    _must(library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "no context")
    _must(library.cuCtxSetCurrent(context), "no context")
    _must(library.cuModuleLoadData(ctypes.byref(module), COPY_PTX), "the copying kernel does not load")
    _must(library.cuModuleGetFunction(ctypes.byref(copy), module, b"ke_copy"), "the copying kernel does not load")
    n_blocks = found.n_cores * BLOCKS_PER_CORE
    resident = found.l2_bytes // 8 // 4096 * 4096  # both buffers fit, even in the half that is near
    far_bytes = min(BEYOND_BYTES, found.memory_bytes // 8)
    beyond = max(rate(library, way, n_blocks, far_bytes, N_BEYOND) for way in (copy, None))
    print(f"{beyond:.1f} {max(beyond, rate(library, copy, n_blocks, resident, N_RESIDENT)):.1f}")
    return 0


def rate(library: Any, copy: ctypes.c_void_p | None, n_blocks: int, n_bytes: int, n_times: int) -> float:
    """GB/s of the same copy so many times, by the kernel in one launch or by the driver's own copies."""
    source, target = ctypes.c_uint64(), ctypes.c_uint64()
    for address in (source, target):
        _must(library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(n_bytes)), "no memory")
        _must(library.cuMemsetD8_v2(address, ctypes.c_ubyte(1), ctypes.c_size_t(n_bytes)), "no memset")
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        _must(library.cuEventCreate(ctypes.byref(event), 0), "no event")
    values = [target, source, ctypes.c_uint64(n_bytes), ctypes.c_uint64(n_times)]
    given = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.pointer(v), ctypes.c_void_p).value for v in values))
    best = 0.0
    for _ in range(N_ROUNDS):
        library.cuEventRecord(events[0], None)
        if copy is not None:
            _must(library.cuLaunchKernel(copy, n_blocks, 1, 1, THREADS, 1, 1, 0, None, given, None), "no launch")
        for _ in range(n_times if copy is None else 0):
            _must(library.cuMemcpyDtoDAsync_v2(target, source, ctypes.c_size_t(n_bytes), None), "no copy")
        library.cuEventRecord(events[1], None)
        _must(library.cuCtxSynchronize(), "no copy")
        milliseconds = ctypes.c_float()
        library.cuEventElapsedTime(ctypes.byref(milliseconds), *events)
        best = max(best, 2.0 * n_bytes * n_times / (milliseconds.value * 1e-3) / 1e9)
    for address in (source, target):
        library.cuMemFree_v2(address)
    return best


def _must(code: int, what: str) -> None:
    if code != 0:
        print(f"{what}: CUDA error {code}")
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main())
