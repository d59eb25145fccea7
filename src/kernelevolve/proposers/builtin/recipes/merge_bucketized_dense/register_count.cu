// recipe: register_count
// family: merge_bucketized_dense
// summary: ITEMS values a thread, mostly of one feature, whose borders sit in registers and are counted, at most 16
// isa: sm_90
// knob THREADS = 128 256 64 512
// knob ITEMS = 4 1 2 8
// order: 10
#define MAX_BORDERS 16

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
        for (int k = 0; k < MAX_BORDERS / 2; ++k) count += !(borders[k] >= x);
        if (n > MAX_BORDERS / 2) {
#pragma unroll
            for (int k = MAX_BORDERS / 2; k < MAX_BORDERS; ++k) count += !(borders[k] >= x);
        }
        return shift + min(count, n);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
merge(const float* __restrict__ x, const float* __restrict__ borders, const long long* __restrict__ offsets,
      long long* __restrict__ out, int F, int N) {
    const long long total = (long long)F * N;
    // A warp owns 32 * ITEMS neighbours. Its threads take every 32nd; where features are short, a run each, so that no
    // thread waits for the borders of many of them. What a block adds to its first column fits 32 bits.
    const long long block = (long long)blockIdx.x * (THREADS * ITEMS);
    if (block >= total) return;
    const unsigned apart = N < 32 ? 1 : 32;
    const unsigned in_block = apart == 1 ? threadIdx.x * ITEMS : threadIdx.x / 32 * (32 * ITEMS) + threadIdx.x % 32;
    const int f0 = total < 0x7fffffff ? (int)((unsigned)block / (unsigned)N) : (int)(block / N);
    unsigned column = (unsigned)(block - (long long)f0 * N) + in_block;
    int f = f0 + (int)(column / (unsigned)N);
    column %= (unsigned)N;
    float value[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const long long i = block + in_block + apart * k;
        value[k] = i < total ? __ldcs(x + i) : 0.0f;
    }
    Feature own;
    int loaded = -1;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const long long i = block + in_block + apart * k;
        if (i < total) {
            if (f != loaded) own.load(borders, offsets, f);
            loaded = f;
            __stcs(out + i, own.id(value[k]));
        }
        column += apart;
        if (column >= (unsigned)N) {
            f += (int)(column / (unsigned)N);
            column %= (unsigned)N;
        }
    }
}
