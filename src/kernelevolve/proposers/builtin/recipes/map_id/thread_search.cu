// recipe: thread_search
// family: map_id
// summary: branch-free halving, ITEMS ids a thread side by side, the table read through the caches
// isa: sm_90
// knob THREADS = 256 128 512
// knob ITEMS = 4 1 2 8
// order: 10

extern "C" __global__ void __launch_bounds__(THREADS)
look_up(const long long* __restrict__ v, const long long* __restrict__ table, long long* __restrict__ out, long long n,
        int M) {
    const long long first = (long long)blockIdx.x * (THREADS * ITEMS) + threadIdx.x;
    long long wanted[ITEMS];
    int at[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const long long i = first + k * THREADS;
        wanted[k] = i < n ? __ldcs(v + i) : 0;
        at[k] = 0;
    }
    for (int length = M; length > 1;) {
        const int half = length / 2;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) at[k] += __ldg(table + at[k] + half - 1) < wanted[k] ? half : 0;
        length -= half;
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const long long i = first + k * THREADS;
        const bool found = M > 0 && i < n && __ldg(table + at[k]) == wanted[k];
        if (i < n) __stcs(out + i, found ? at[k] + 1LL : 0LL);
    }
}
