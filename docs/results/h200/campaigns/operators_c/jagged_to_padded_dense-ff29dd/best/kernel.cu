// jagged_to_padded_dense: step 2 of campaign jagged_to_padded_dense-ff29dd
#define KE_DTYPE_float16 1
#define THREADS 128
#define TILE 4096
// recipe: wide_copies
// family: jagged_to_padded_dense
// summary: a block per TILE elements of a dense row, copied or padded in the widest words that a row of D allows
// isa: sm_90
// dtype: bfloat16 float16 float32
// knob THREADS = 256 128 512
// knob TILE = 4096 2048 8192 16384
// order: 20
#if defined(KE_DTYPE_bfloat16)
#include <cuda_bf16.h>
typedef unsigned short bits;
__device__ __forceinline__ bits bits_of(double x) { return __bfloat16_as_ushort(__float2bfloat16_rn((float)x)); }
#elif defined(KE_DTYPE_float16)
#include <cuda_fp16.h>
typedef unsigned short bits;
__device__ __forceinline__ bits bits_of(double x) { return __half_as_ushort(__float2half_rn((float)x)); }
#else
typedef unsigned bits;
__device__ __forceinline__ bits bits_of(double x) { return __float_as_uint((float)x); }
#endif

template <typename Word>
__device__ __forceinline__ Word repeated(bits x) {
    union {
        Word word;
        bits part[sizeof(Word) / sizeof(bits)];
    } all;
#pragma unroll
    for (int k = 0; k < (int)(sizeof(Word) / sizeof(bits)); ++k) all.part[k] = x;
    return all.word;
}

// Elements `first` to `end` of a dense row, of which those before `n` are in `from`.
template <typename Word>
__device__ __forceinline__ void fill(const bits* __restrict__ from, bits* __restrict__ to, long long n, long long first,
                                     long long end, bits padding) {
    constexpr int kVec = sizeof(Word) / sizeof(bits), kShare = TILE / kVec / THREADS;
    constexpr int kWords = kShare >= 4 ? 4 : kShare >= 2 ? 2 : 1;  // in flight
    const Word pad = repeated<Word>(padding);
    for (long long base = first + threadIdx.x * kVec; base < end; base += THREADS * kVec * kWords) {
        Word x[kWords];
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            const long long i = base + k * (THREADS * kVec);
            x[k] = i < n && i < end ? __ldcs(reinterpret_cast<const Word*>(from + i)) : pad;
        }
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            const long long i = base + k * (THREADS * kVec);
            if (i < end) __stcs(reinterpret_cast<Word*>(to + i), x[k]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
pad_rows(const bits* __restrict__ values, const long long* __restrict__ offsets, double padding, bits* __restrict__ out,
         int B, int L, int D) {
    const long long width = (long long)L * D;
    const unsigned tiles = (unsigned)((width + TILE - 1) / TILE);
    if (tiles == 0 || blockIdx.x / tiles >= (unsigned)B) return;
    const unsigned b = blockIdx.x / tiles;
    const long long begin = __ldg(offsets + b), length = __ldg(offsets + b + 1) - begin;
    const long long n = min(length, (long long)L) * D, first = (long long)(blockIdx.x - b * tiles) * TILE;
    const long long end = min(first + TILE, width);
    const bits* from = values + begin * D;
    bits* to = out + b * width;
    const bits pad = bits_of(padding);
    const int row_bytes = D * (int)sizeof(bits);
    if (row_bytes % 16 == 0) fill<uint4>(from, to, n, first, end, pad);
    else if (row_bytes % 8 == 0) fill<uint2>(from, to, n, first, end, pad);
    else if (row_bytes % 4 == 0) fill<unsigned>(from, to, n, first, end, pad);
    else fill<bits>(from, to, n, first, end, pad);
}
