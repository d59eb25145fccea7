// recipe: four_columns
// family: merge_bucketized_dense
// summary: VECTORS times 4 neighbours a thread with 16-byte reads and writes; short features one value a thread
// isa: sm_90
// knob THREADS = 128 256 64
// knob VECTORS = 2 1 4
// knob EARLY = 1 0
// order: 20
//
// Where the borders of a feature are is known only when its offset has been read: EARLY fetches all borders into the
// L2 cache meanwhile, so that the second of the two reads is a short one.
#define MAX_BORDERS 16
#define SHORT 8

struct Feature {
    float borders[MAX_BORDERS];
    int n;
    long long shift;  // id of the feature's first bucket

    __device__ __forceinline__ void load(const float* __restrict__ all, const long long* __restrict__ offsets, int f) {
        const long long first = __ldg(offsets + f);
        n = (int)(__ldg(offsets + f + 1) - first);
        shift = first + f;
#pragma unroll
        for (int k = 0; k < MAX_BORDERS; ++k) borders[k] = k < n ? __ldg(all + first + k) : __int_as_float(0x7f800000);
    }

    // Nothing is above the infinities behind the last border but NaN, which belongs above all borders.
    __device__ __forceinline__ long long id(float x) const {
        int count = 0;
#pragma unroll
        for (int from = 0; from < MAX_BORDERS; from += 4) {
            if (from == 0 || n > from) {
#pragma unroll
                for (int k = from; k < from + 4; ++k) count += !(borders[k] >= x);
            }
        }
        return shift + min(count, n);
    }
};

__device__ __forceinline__ void fetch_early(const float* borders, long long S) {
    const long long at = ((long long)blockIdx.x * THREADS + threadIdx.x) * 32;
    if (EARLY && at < S) asm volatile("prefetch.global.L2 [%0];" ::"l"(borders + at));
}

__device__ __forceinline__ void put_pair(long long* out, long long a, long long b) {
    __stcs(reinterpret_cast<longlong2*>(out), longlong2{a, b});
}

// Features of up to SHORT values: a thread has one.
__device__ __forceinline__ void one_value(const float* x, const float* borders, const long long* offsets,
                                          long long* out, int total, int N) {
    const int i = (int)(blockIdx.x * THREADS + threadIdx.x);
    if (i >= total) return;
    const float value = __ldcs(x + i);
    const int f = (int)((unsigned)i / (unsigned)N);
    Feature own;
    own.load(borders, offsets, f);
    out[i] = own.id(value);
}

extern "C" __global__ void __launch_bounds__(THREADS)
merge(const float* __restrict__ x, const float* __restrict__ borders, const long long* __restrict__ offsets,
      long long* __restrict__ out, int F, int N, long long S) {
    const long long total = (long long)F * N;
    const long long block = (long long)blockIdx.x * (THREADS * 4 * VECTORS);
    if (N <= SHORT && (long long)blockIdx.x * THREADS >= total || N > SHORT && block >= total) return;
    fetch_early(borders, S);
    if (N <= SHORT) {
        one_value(x, borders, offsets, out, (int)total, N);
        return;
    }
    const long long first = block + 4 * threadIdx.x;
    float4 value[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const long long i = first + k * (4 * THREADS);
        value[k] = i + 4 <= total ? __ldcs(reinterpret_cast<const float4*>(x + i)) : float4{0.0f, 0.0f, 0.0f, 0.0f};
    }
    // What a block adds to its first column fits 32 bits.
    int f = total < 0x7fffffff ? (int)((unsigned)block / (unsigned)N) : (int)(block / N);
    unsigned column = (unsigned)(block - (long long)f * N) + 4 * threadIdx.x;
    Feature own;
    int loaded = -1;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const long long i = first + k * (4 * THREADS);
        if (column >= (unsigned)N) {
            f += (int)(column / (unsigned)N);
            column %= (unsigned)N;
        }
        if (i >= total) return;
        if (f != loaded) own.load(borders, offsets, f);
        loaded = f;
        if (column + 4 <= (unsigned)N) {  // all of one feature; i is a multiple of 4
            put_pair(out + i, own.id(value[k].x), own.id(value[k].y));
            put_pair(out + i + 2, own.id(value[k].z), own.id(value[k].w));
        } else {
            unsigned c = column;
#pragma unroll 1
            for (int j = 0; j < 4 && i + j < total; ++j, ++c) {
                if (c == (unsigned)N) own.load(borders, offsets, ++loaded), c = 0;
                out[i + j] = own.id(__ldg(x + i + j));
            }
        }
        column += 4 * THREADS;
    }
}
