// recipe: bag_runs
// family: jagged_pooled_embedding
// summary: neighbouring bags on one multiprocessor, which so reads one table at a time; indices fetched a bag early
// isa: sm_90
// dtype: bfloat16 float16 float32
// knob THREADS = 256 128 512
// knob AHEAD = 4 8 2
// knob BLOCKS_PER_SM = 4 2 8
// order: 25
//
// As many lanes as a row has words of up to 16 bytes share a bag. Each lane keeps one of the bag's next indices and
// hands it round. The lanes of a warp go round together, as often as its longest bag needs.
#if defined(KE_DTYPE_bfloat16)
#include <cuda_bf16.h>
typedef __nv_bfloat16 real;
__device__ __forceinline__ float wide(real x) { return __bfloat162float(x); }
__device__ __forceinline__ real narrow(float x) { return __float2bfloat16_rn(x); }
#elif defined(KE_DTYPE_float16)
#include <cuda_fp16.h>
typedef __half real;
__device__ __forceinline__ float wide(real x) { return __half2float(x); }
__device__ __forceinline__ real narrow(float x) { return __float2half_rn(x); }
#else
typedef float real;
__device__ __forceinline__ float wide(real x) { return x; }
__device__ __forceinline__ real narrow(float x) { return x; }
#endif

struct Bag {
    long long begin;
    int count;
    int index;  // of this lane; a table has at most 2^24 rows, so it fits; -1: none or pruned

    __device__ __forceinline__ void find(const long long* offsets, int bag, int end) {
        begin = bag < end ? __ldg(offsets + bag) : 0;
        count = bag < end ? (int)(__ldg(offsets + bag + 1) - begin) : 0;
    }
    __device__ __forceinline__ void fetch(const long long* indices, int at) {
        index = at < count ? (int)__ldg(indices + begin + at) : -1;
    }
};

__device__ __forceinline__ int most_of_warp(int x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) x = max(x, __shfl_xor_sync(~0u, x, step));
    return x;
}

// The words at `table` of the rows that the bag names, added up. `bag` holds its first LANES indices.
template <typename Word, int LANES>
__device__ __forceinline__ void pool(Bag bag, const real* __restrict__ table, const long long* __restrict__ indices,
                                     int D, bool inside, int lane, float (&sum)[sizeof(Word) / sizeof(real)]) {
    constexpr int kVec = sizeof(Word) / sizeof(real), kAhead = AHEAD < LANES ? AHEAD : LANES;
    const int most = most_of_warp(bag.count), leader = threadIdx.x % 32 / LANES * LANES;
    for (int at = 0; at < most; at += LANES) {
        if (at > 0) bag.fetch(indices, at + lane);
#pragma unroll 1
        for (int from = 0; from < LANES && at + from < most; from += kAhead) {
            Word word[kAhead];
#pragma unroll
            for (int k = 0; k < kAhead; ++k) {
                const int row = __shfl_sync(~0u, bag.index, leader + from + k);
                const Word* from_row = reinterpret_cast<const Word*>(table + (long long)row * D);
                word[k] = row >= 0 && inside ? __ldg(from_row) : Word{};
            }
#pragma unroll
            for (int k = 0; k < kAhead; ++k) {
                const real* values = reinterpret_cast<const real*>(&word[k]);
#pragma unroll
                for (int j = 0; j < kVec; ++j) sum[j] += wide(values[j]);
            }
        }
    }
}

template <typename Word, int LANES>
__device__ __forceinline__ void pool_run(const real* __restrict__ tables, const long long* __restrict__ indices,
                                         const long long* __restrict__ offsets, real* __restrict__ out, int B, int G,
                                         long long R, int D) {
    constexpr int kVec = sizeof(Word) / sizeof(real), kBags = THREADS / LANES;
    const int lane = threadIdx.x % LANES, own = threadIdx.x / LANES, n_bags = B * G;
    // Blocks 132 apart are likely on one multiprocessor: they take neighbouring runs.
    const int part = blockIdx.x % 132 * BLOCKS_PER_SM + blockIdx.x / 132;
    const int run = (n_bags + 132 * BLOCKS_PER_SM - 1) / (132 * BLOCKS_PER_SM);
    const int first = min((long long)n_bags, (long long)part * run), end = min(n_bags - first, run) + first;
    Bag bag, next;
    bag.find(offsets, first + own, end);
    bag.fetch(indices, lane);
    for (int from = first; from < end; from += kBags) {
        const int mine = from + own, g = mine / B, b = mine - g * B;
        next.find(offsets, mine + kBags, end);
        next.fetch(indices, lane);
        for (int c0 = 0; c0 < D; c0 += LANES * kVec) {
            const int c = c0 + lane * kVec;
            const bool inside = mine < end && c < D;
            float sum[kVec] = {};
            pool<Word, LANES>(bag, tables + (long long)g * R * D + c, indices, D, inside, lane, sum);
            Word result;
            real* at = reinterpret_cast<real*>(&result);
#pragma unroll
            for (int j = 0; j < kVec; ++j) at[j] = narrow(sum[j]);
            if (inside) __stcs(reinterpret_cast<Word*>(out + ((long long)b * G + g) * D + c), result);
        }
        bag = next;
    }
}

template <typename Word>
__device__ __forceinline__ void pool_bags(const real* __restrict__ tables, const long long* __restrict__ indices,
                                          const long long* __restrict__ offsets, real* __restrict__ out, int B, int G,
                                          long long R, int D) {
    const int words = D / (int)(sizeof(Word) / sizeof(real));
    if (words <= 8) pool_run<Word, 8>(tables, indices, offsets, out, B, G, R, D);
    else if (words <= 16) pool_run<Word, 16>(tables, indices, offsets, out, B, G, R, D);
    else pool_run<Word, 32>(tables, indices, offsets, out, B, G, R, D);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)
pooled(const real* __restrict__ tables, const long long* __restrict__ indices, const long long* __restrict__ offsets,
       real* __restrict__ out, int B, int G, long long R, int D) {
    const int row_bytes = D * (int)sizeof(real);
    if (B == 0) return;
    if (row_bytes % 16 == 0) pool_bags<uint4>(tables, indices, offsets, out, B, G, R, D);
    else if (row_bytes % 4 == 0) pool_bags<unsigned>(tables, indices, offsets, out, B, G, R, D);
    else if constexpr (sizeof(real) == 2) pool_bags<unsigned short>(tables, indices, offsets, out, B, G, R, D);
}
