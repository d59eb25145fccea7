// jagged_pooled_embedding: step 11 of campaign jagged_pooled_embedding-4cd478
#define KE_DTYPE_float16 1
#define THREADS 256
#define AHEAD 8
#define BLOCKS_PER_SM 4
// recipe: lanes_per_bag
// family: jagged_pooled_embedding
// summary: as many lanes as a row has words of up to 16 bytes share a bag; AHEAD rows in flight, sums in float32
// isa: sm_90
// dtype: bfloat16 float16 float32
// knob THREADS = 256 128 512
// knob AHEAD = 8 4 2
// knob BLOCKS_PER_SM = 8 4 16
// order: 20
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

// The words at column c of the rows that indices[begin..end) name, summed. A pruned row adds the zero it is not.
template <typename Word>
__device__ __forceinline__ void pool(const real* __restrict__ table, const long long* __restrict__ indices,
                                     long long begin, long long end, int D, int c, real* __restrict__ to) {
    constexpr int kVec = sizeof(Word) / sizeof(real);
    float sum[kVec] = {};
    for (long long i = begin; i < end; i += AHEAD) {
        long long row[AHEAD];
        Word word[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) row[k] = i + k < end ? __ldg(indices + i + k) : -1;
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            word[k] = row[k] >= 0 ? __ldg(reinterpret_cast<const Word*>(table + row[k] * D + c)) : Word{};
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            const real* at = reinterpret_cast<const real*>(&word[k]);
#pragma unroll
            for (int j = 0; j < kVec; ++j) sum[j] += wide(at[j]);
        }
    }
    Word result;
    real* at = reinterpret_cast<real*>(&result);
#pragma unroll
    for (int j = 0; j < kVec; ++j) at[j] = narrow(sum[j]);
    __stcs(reinterpret_cast<Word*>(to + c), result);
}

template <typename Word>
__device__ __forceinline__ void pool_bags(const real* __restrict__ tables, const long long* __restrict__ indices,
                                          const long long* __restrict__ offsets, real* __restrict__ out, int B, int G,
                                          long long R, int D) {
    constexpr int kVec = sizeof(Word) / sizeof(real);
    int lanes = 1;
    while (lanes < 32 && lanes * kVec < D) lanes *= 2;
    const int bags = THREADS / lanes, lane = threadIdx.x % lanes, n_bags = B * G;
    for (int bag = blockIdx.x * bags + threadIdx.x / lanes; bag < n_bags; bag += gridDim.x * bags) {
        const int g = bag / B, b = bag - g * B;
        const long long begin = __ldg(offsets + bag), end = __ldg(offsets + bag + 1);
        real* to = out + ((long long)b * G + g) * D;
        for (int c = lane * kVec; c < D; c += lanes * kVec) {
            pool<Word>(tables + (long long)g * R * D, indices, begin, end, D, c, to);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)
pooled(const real* __restrict__ tables, const long long* __restrict__ indices, const long long* __restrict__ offsets,
       real* __restrict__ out, int B, int G, long long R, int D) {
    const int row_bytes = D * (int)sizeof(real);
    if (row_bytes % 16 == 0) pool_bags<uint4>(tables, indices, offsets, out, B, G, R, D);
    else if (row_bytes % 8 == 0) pool_bags<uint2>(tables, indices, offsets, out, B, G, R, D);
    else if (row_bytes % 4 == 0) pool_bags<unsigned>(tables, indices, offsets, out, B, G, R, D);
    else if constexpr (sizeof(real) == 2) pool_bags<unsigned short>(tables, indices, offsets, out, B, G, R, D);
}
