"""Root-mean-square normalisation with a weight, one block per row."""

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Float32, Int32

EPSILON = 1e-6


@cute.jit
def add_over_block(value: Float32, threads: Constexpr) -> Float32:
    """The sum over all threads, in every one of them."""
    thread, _, _ = cute.arch.thread_idx()
    partial = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout(threads // 32), 16)
    total = cute.arch.warp_reduction_sum(value)
    if thread % 32 == 0:
        partial[thread // 32] = total
    cute.arch.sync_threads()
    total = Float32(0)
    for warp in cutlass.range_constexpr(threads // 32):
        total += partial[warp]
    return total


@cute.kernel
def normalise(x: cute.Pointer, weight: cute.Pointer, out: cute.Pointer, R: Int32, C: Int32, THREADS: Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    if row < R:
        shape = cute.make_layout((R, C), stride=(cutlass.Int64(C), 1))
        source = cute.make_tensor(x, shape)
        target = cute.make_tensor(out, shape)
        gain = cute.make_tensor(weight, cute.make_layout(C))
        squares = Float32(0)
        for column in cutlass.range(thread, C, THREADS):
            value = source[row, column].to(Float32)
            squares += value * value
        squares = add_over_block(squares, THREADS)
        scale = cute.math.rsqrt(squares / Float32(C) + EPSILON)
        for column in cutlass.range(thread, C, THREADS):
            value = source[row, column].to(Float32) * scale * gain[column].to(Float32)
            target[row, column] = value.to(target.element_type)
