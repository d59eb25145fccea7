// recipe: staged_stream
// family: jagged_pooled_embedding
// summary: a block's indices wait in shared memory; groups of lanes stream equal shares of them across bag ends
// isa: sm_90
// dtype: bfloat16 float16 float32
// knob THREADS = 256 128 512
// knob AHEAD = 8 4 16
// knob BAGS = 128 64 32
// knob BLOCKS_PER_SM = 4 8 2
// knob PER_SM = 1024 768 1536
// knob LOCAL = 1 0
// order: 15
//
// AHEAD rows are in flight whatever the bags' lengths. LOCAL gives a multiprocessor neighbouring bags, so that it reads
// few pages of one or two tables; otherwise all take the next BAGS bags in turn. PER_SM threads find room on one.
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
#define ROOM 4096 /* indices in shared memory; more are read where they are */

struct Staged {
    int offset[BAGS + 1];   // from the first of these bags on
    int row[ROOM + AHEAD];  // a table has at most 2^24 rows; below 0: pruned
};

// The first of n bags that starts at `at` or later.
__device__ __forceinline__ int bag_from(const int* offset, int n, int at) {
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (offset[middle] < at) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Bags [bag, end) of `staged`, all of one table, at the columns of one word. `to` is the first bag's.
template <typename Word>
__device__ __forceinline__ void stream(const Staged& staged, const long long* __restrict__ indices, bool inside,
                                       int bag, int end, const real* __restrict__ table, int D, real* __restrict__ to,
                                       long long apart) {
    constexpr int kVec = sizeof(Word) / sizeof(real);
    const unsigned row_bytes = D * (unsigned)sizeof(real);
    asm("" : "+l"(table));  // or every row's address becomes a 64-bit product with the table's number in it
    const int stop = staged.offset[end];
    int next = staged.offset[bag + 1];
    float sum[kVec] = {};
    const auto finish = [&]() {
        Word result;
        real* values = reinterpret_cast<real*>(&result);
#pragma unroll
        for (int j = 0; j < kVec; ++j) values[j] = narrow(sum[j]), sum[j] = 0.0f;
        __stcs(reinterpret_cast<Word*>(to), result);
        to += apart;
        if (++bag < end) next = staged.offset[bag + 1];
    };
    for (int at = staged.offset[bag]; at < stop; at += AHEAD) {
        int row[AHEAD];
        Word word[AHEAD];
        if (inside) {
#pragma unroll
            for (int k = 0; k < AHEAD; ++k) row[k] = staged.row[at + k];
        } else {
#pragma unroll
            for (int k = 0; k < AHEAD; ++k) row[k] = at + k < stop ? (int)__ldg(indices + at + k) : -1;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const char* from = reinterpret_cast<const char*>(table) + (unsigned long long)(unsigned)row[k] * row_bytes;
            word[k] = row[k] >= 0 && at + k < stop ? __ldg(reinterpret_cast<const Word*>(from)) : Word{};
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            if (at + k < stop) {
                while (at + k >= next) finish();
            }
            const real* values = reinterpret_cast<const real*>(&word[k]);
#pragma unroll
            for (int j = 0; j < kVec; ++j) sum[j] += wide(values[j]);
        }
    }
    while (bag < end) finish();
}

// The n bags from `first` on, whose offsets are staged.
template <typename Word>
__device__ __forceinline__ void pool(const Staged& staged, const real* __restrict__ tables,
                                     const long long* __restrict__ indices, bool inside, real* __restrict__ out,
                                     int first, int n, int B, int G, long long R, int D) {
    constexpr int kVec = sizeof(Word) / sizeof(real);
    int lanes = 1;
    while (lanes < 32 && lanes * kVec < D) lanes *= 2;
    const int groups = THREADS / lanes, group = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    const long long total = staged.offset[n];
    const int begin = bag_from(staged.offset, n, (int)(total * group / groups));
    const int end = group + 1 == groups ? n : bag_from(staged.offset, n, (int)(total * (group + 1) / groups));
    for (int c = lane * kVec; c < D; c += lanes * kVec) {
        for (int bag = begin; bag < end;) {  // one table after the other
            const int g = (first + bag) / B, b = first + bag - g * B, last = min(end, bag + B - b);
            stream<Word>(staged, indices, inside, bag, last, tables + (long long)g * R * D + c, D,
                         out + ((long long)b * G + g) * D + c, (long long)G * D);
            bag = last;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM / THREADS)
pooled(const real* __restrict__ tables, const long long* __restrict__ indices, const long long* __restrict__ offsets,
       real* __restrict__ out, int B, int G, long long R, int D) {
    __shared__ Staged staged;
    const int n_bags = B * G, n_parts = 132 * BLOCKS_PER_SM;
    // Blocks 132 apart are likely on one multiprocessor: they take neighbouring parts.
    const long long part = blockIdx.x % 132 * BLOCKS_PER_SM + blockIdx.x / 132;
    const long long begin = LOCAL ? part * n_bags / n_parts : (long long)blockIdx.x * BAGS;
    const int end = LOCAL ? (int)((part + 1) * n_bags / n_parts) : n_bags;
    const int row_bytes = D * (int)sizeof(real);
    for (long long from = begin; from < end; from += LOCAL ? BAGS : n_parts * BAGS) {
        const int first = (int)from, n = min(BAGS, end - first);
        const long long base = __ldg(offsets + first);
        for (int i = threadIdx.x; i <= n; i += THREADS) staged.offset[i] = (int)(__ldg(offsets + first + i) - base);
        __syncthreads();
        const int total = staged.offset[n];
        const bool inside = total <= ROOM;
        if (inside) {
#pragma unroll 4
            for (int i = threadIdx.x; i < total; i += THREADS) staged.row[i] = (int)__ldcs(indices + base + i);
        }
        __syncthreads();
        const long long* own = indices + base;
        if (row_bytes % 16 == 0) pool<uint4>(staged, tables, own, inside, out, first, n, B, G, R, D);
        else if (row_bytes % 8 == 0) pool<uint2>(staged, tables, own, inside, out, first, n, B, G, R, D);
        else if (row_bytes % 4 == 0) pool<unsigned>(staged, tables, own, inside, out, first, n, B, G, R, D);
        else if constexpr (sizeof(real) == 2)
            pool<unsigned short>(staged, tables, own, inside, out, first, n, B, G, R, D);
        __syncthreads();
    }
}
