// merge_bucketized_dense: step 2 of campaign merge_bucketized_dense-4626b0
#define KE_DTYPE_float32 1
#define THREADS 128
#define PAIRS 4
#define PER_SM 1280
#define SHORT 16
#define STREAM_OUT 1
#define EARLY 1
// recipe: warp_pairs
// family: merge_bucketized_dense
// summary: a warp has 64 * PAIRS neighbours, lanes read and write whole sectors; its feature's borders in shared memory
// isa: sm_90
// knob THREADS = 128 256 64
// knob PAIRS = 4 2 8
// knob PER_SM = 1280 1024 1536 2048
// knob SHORT = 16 8
// knob STREAM_OUT = 1 0
// knob EARLY = 1 0
// order: 15
//
// Lanes hold neighbouring pairs, so a warp's 16-byte writes fill whole sectors. Ids fit 32 bits. Where features are
// SHORT a thread has one value. EARLY fetches all borders into the L2 cache while the offsets are on their way. PER_SM
// threads find room on a multiprocessor.
#define MAX_BORDERS 16

// Nothing is above the infinities behind the last border but NaN, which belongs above all borders.
__device__ __forceinline__ float border_or_infinity(const float* __restrict__ borders, long long first, int k, int n) {
    return k < n ? __ldg(borders + first + k) : __int_as_float(0x7f800000);
}

// Counts in floating point leave half of the work to the other pipe; from 2^23 on, the low bits are the count.
#define ZERO 8388608.0f
__device__ __forceinline__ float count_one(float count, float border, float x) {
    float one;
    asm("set.ltu.f32.f32 %0, %1, %2;" : "=f"(one) : "f"(border), "f"(x));
    return count + one;
}
__device__ __forceinline__ unsigned id_of(float count, int n, int shift) {
    return __float_as_uint(fminf(count, ZERO + n)) - __float_as_uint(ZERO) + shift;
}

__device__ __forceinline__ void put_pair(long long* out, unsigned a, unsigned b) {
    const uint4 pair{a, 0, b, 0};
    if (STREAM_OUT) __stcs(reinterpret_cast<uint4*>(out), pair);
    else *reinterpret_cast<uint4*>(out) = pair;
}

__device__ void one_value(const float* __restrict__ x, const float* __restrict__ borders,
                          const long long* __restrict__ offsets, long long* __restrict__ out, int f, long long i) {
    const float value = __ldcs(x + i);
    const long long first = __ldg(offsets + f);
    const int n = (int)(__ldg(offsets + f + 1) - first);
    float own[MAX_BORDERS];
#pragma unroll
    for (int k = 0; k < MAX_BORDERS; ++k) own[k] = border_or_infinity(borders, first, k, n);
    float count = ZERO;
#pragma unroll
    for (int k = 0; k < MAX_BORDERS; ++k) count = count_one(count, own[k], value);
    out[i] = id_of(count, n, (int)first + f);
}

struct Borders {
    int n, shift;  // shift: id of the feature's first bucket

    // Into the warp's part of shared memory.
    __device__ __forceinline__ void load(float4* to, const float* __restrict__ all,
                                         const long long* __restrict__ offsets, int f, int lane) {
        const long long first = __ldg(offsets + f);
        n = (int)(__ldg(offsets + f + 1) - first);
        shift = (int)first + f;
        __syncwarp();  // the borders before these have been read
        if (lane < MAX_BORDERS) reinterpret_cast<float*>(to)[lane] = border_or_infinity(all, first, lane, n);
        __syncwarp();
    }
    __device__ __forceinline__ void count(const float4* own, const float (&x)[2 * PAIRS], unsigned (&id)[2 * PAIRS]) {
        float count[2 * PAIRS];
#pragma unroll
        for (int e = 0; e < 2 * PAIRS; ++e) count[e] = ZERO;
#pragma unroll 1
        for (int from = 0; from < n; from += 4) {
            const float4 four = own[from / 4];
#pragma unroll
            for (int e = 0; e < 2 * PAIRS; ++e) {
                count[e] = count_one(count_one(count[e], four.x, x[e]), four.y, x[e]);
                count[e] = count_one(count_one(count[e], four.z, x[e]), four.w, x[e]);
            }
        }
#pragma unroll
        for (int e = 0; e < 2 * PAIRS; ++e) id[e] = id_of(count[e], n, shift);
    }
};

#define CHUNK (64 * PAIRS)

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM / THREADS)
merge(const float* __restrict__ x, const float* __restrict__ borders, const long long* __restrict__ offsets,
      long long* __restrict__ out, int F, int N, long long S) {
    __shared__ float4 shared[THREADS / 32][MAX_BORDERS / 4];
    const long long total = (long long)F * N;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long number = (long long)blockIdx.x * (THREADS / 32) + warp;
    if (EARLY && number * 1024 + lane * 32 < S) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(borders + number * 1024 + lane * 32));
    }
    if (N <= SHORT || total < CHUNK) {
        const unsigned step = gridDim.x * THREADS;
        for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < (unsigned)total; i += step) {
            one_value(x, borders, offsets, out, (int)(i / (unsigned)N), i);
        }
        return;
    }
    const long long past = number * CHUNK - total;  // the last chunk is moved back, so that all are whole
    if (past >= CHUNK) return;
    if (past >= 0) {
        if (total % 2 == 1 && lane == 0) one_value(x, borders, offsets, out, F - 1, total - 1);
        return;
    }
    const long long chunk = min(number * CHUNK, (total - CHUNK) & ~1LL);
    x += chunk + 2 * lane, out += chunk + 2 * lane;
    float value[2 * PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        const float2 pair = __ldcs(reinterpret_cast<const float2*>(x + 64 * k));
        value[2 * k] = pair.x, value[2 * k + 1] = pair.y;
    }
    int f = total <= 0x7fffffff ? (int)((unsigned)chunk / (unsigned)N) : (int)(chunk / N);
    Borders own;
    unsigned id[2 * PAIRS];
    own.load(shared[warp], borders, offsets, f, lane);
    own.count(shared[warp], value, id);
    for (int begin = (int)((f + 1LL) * N - chunk); begin < CHUNK; begin += N) {  // values of the features after it
        unsigned other[2 * PAIRS];
        own.load(shared[warp], borders, offsets, ++f, lane);
        own.count(shared[warp], value, other);
#pragma unroll
        for (int e = 0; e < 2 * PAIRS; ++e) {
            if (64 * (e / 2) + 2 * lane + e % 2 >= begin) id[e] = other[e];
        }
    }
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) put_pair(out + 64 * k, id[2 * k], id[2 * k + 1]);
}
