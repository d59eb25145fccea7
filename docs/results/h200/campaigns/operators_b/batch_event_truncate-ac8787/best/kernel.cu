// batch_event_truncate: step 1 of campaign batch_event_truncate-ac8787
#define KE_DTYPE_float32 1
#define WARPS 8
#define BATCH 8
// recipe: segments
// family: batch_event_truncate
// summary: a warp per user of a feature: what it keeps is one run of lengths and one run of ids; block-wide look-back
// isa: sm_90
// knob WARPS = 8 4 16
// knob BATCH = 8 4 16
// order: 20
//
// First `users`: prefix sums of the events of all users and of those kept. Then `move`: a warp sums its segment's
// lengths and copies those kept. Where its ids begin is the sum of all segments before it: every block publishes its
// own sums at once and the sums of everything up to it later; one that waits reads those of THREADS blocks at a time.
#define THREADS (WARPS * 32)
#define SCAN 1024
typedef unsigned long long u64;
#define SUM 1u  // status of a published word, its two low bits: this block alone, or all blocks up to it
#define PREFIX 2u

struct Two {
    u64 all, kept;
};

__device__ __forceinline__ Two operator+(Two a, Two b) { return Two{a.all + b.all, a.kept + b.kept}; }

__device__ __forceinline__ Two warp_sum(Two x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        x = x + Two{__shfl_xor_sync(~0u, x.all, step), __shfl_xor_sync(~0u, x.kept, step)};
    return x;
}

__device__ __forceinline__ Two warp_inclusive(Two x, int lane) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const Two before{__shfl_up_sync(~0u, x.all, step), __shfl_up_sync(~0u, x.kept, step)};
        if (lane >= step) x = x + before;
    }
    return x;
}

// Block 0 scans the users, the others clear the status words of `move`'s blocks: two words each.
extern "C" __global__ void __launch_bounds__(SCAN)
users(const long long* __restrict__ outer, long long limit, long long* __restrict__ outer_out, Two* __restrict__ starts,
      u64* __restrict__ status, int U, long long n_status) {
    if (blockIdx.x > 0) {
        const long long i = (long long)(blockIdx.x - 1) * SCAN + threadIdx.x;
        if (i < n_status) status[i] = 0;
        return;
    }
    __shared__ Two sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Two before{0, 0};
    for (int base = 0; base < U; base += SCAN) {
        const int u = base + threadIdx.x;
        const long long n = u < U ? outer[u] : 0, kept = min(n, limit);
        if (u < U) outer_out[u] = kept;
        const Two own{(u64)n, (u64)kept};
        Two x = warp_inclusive(own, lane);
        if (lane == 31) sums[warp] = x;
        __syncthreads();
        const Two until = warp_inclusive(sums[lane], lane);  // every warp scans the sums of all warps
        const int from = warp == 0 ? 0 : warp - 1;
        const Two shift{__shfl_sync(~0u, until.all, from), __shfl_sync(~0u, until.kept, from)};
        if (warp > 0) x = x + shift;
        if (u < U) starts[u] = Two{before.all + x.all - own.all, before.kept + x.kept - own.kept};
        before = before + Two{__shfl_sync(~0u, until.all, 31), __shfl_sync(~0u, until.kept, 31)};
        __syncthreads();
    }
}

// Sum of all blocks before `tile`; all threads get it. `room`: shared, one Two and one int for each warp.
__device__ Two look_back(const volatile u64* status, long long tile, Two* room, int* nearest_room) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Two sum{0, 0};
    for (long long end = tile; end > 0; end -= THREADS) {
        const long long at = end - 1 - threadIdx.x;
        u64 all = 0, kept = 0;
        if (at >= 0) {
            do {
                all = status[2 * at];
                kept = status[2 * at + 1];
            } while ((all & 3) == 0 || (all & 3) != (kept & 3));
        }
        const unsigned whole = __ballot_sync(~0u, at >= 0 && (all & 3) == PREFIX);
        if (lane == 0) nearest_room[warp] = whole == 0 ? THREADS : warp * 32 + __ffs((int)whole) - 1;
        __syncthreads();
        int nearest = THREADS;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) nearest = min(nearest, nearest_room[w]);
        if (at >= 0 && (int)threadIdx.x <= nearest) sum = sum + Two{all >> 2, kept >> 2};
        __syncthreads();
        if (nearest < THREADS) break;
    }
    sum = warp_sum(sum);
    if (lane == 0) room[warp] = sum;
    __syncthreads();
    sum = Two{0, 0};
#pragma unroll
    for (int w = 0; w < WARPS; ++w) sum = sum + room[w];
    return sum;
}

__device__ __forceinline__ void publish(volatile u64* status, long long tile, Two x, unsigned kind) {
    status[2 * tile] = x.all << 2 | kind;
    status[2 * tile + 1] = x.kept << 2 | kind;
}

// Sums of the segment's lengths; the kept ones are copied on the way.
__device__ __forceinline__ Two copy_lengths(const long long* __restrict__ from, long long* __restrict__ to, long long n,
                                            long long n_kept, int lane) {
    Two sum{0, 0};
    for (long long base = lane; base < n; base += 32 * BATCH) {
        long long x[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) x[k] = base + 32 * k < n ? __ldcs(from + base + 32 * k) : 0;
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const bool keep = base + 32 * k < n_kept;
            if (keep) __stcs(to + base + 32 * k, x[k]);
            sum = sum + Two{(u64)x[k], keep ? (u64)x[k] : 0};
        }
    }
    return warp_sum(sum);
}

__device__ __forceinline__ void copy_ids(const long long* __restrict__ from, long long* __restrict__ to, long long n,
                                         int lane) {
    for (long long base = lane; base < n; base += 32 * BATCH) {
        long long x[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) x[k] = base + 32 * k < n ? __ldcs(from + base + 32 * k) : 0;
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (base + 32 * k < n) __stcs(to + base + 32 * k, x[k]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)
move(const long long* __restrict__ outer, const long long* __restrict__ inner, const long long* __restrict__ values,
     long long limit, const Two* __restrict__ starts, u64* status, long long* __restrict__ inner_out,
     long long* __restrict__ values_out, int U, int F, long long E, long long EO) {
    __shared__ Two own[WARPS], room[WARPS];
    __shared__ int nearest[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long n_segments = (long long)U * F, tile = blockIdx.x, segment = tile * WARPS + warp;
    if (tile * WARPS >= n_segments) return;
    Two sum{0, 0};
    if (segment < n_segments) {
        const long long f = segment / U, u = segment - f * U;
        const Two start = starts[u];
        const long long n = outer[u];
        sum = copy_lengths(inner + f * E + start.all, inner_out + f * EO + start.kept, n, min(n, limit), lane);
    }
    if (lane == 0) own[warp] = sum;
    __syncthreads();
    Two before{0, 0}, total{0, 0};
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        if (w == warp) before = total;
        total = total + own[w];
    }
    if (threadIdx.x == 0) publish(status, tile, total, tile == 0 ? PREFIX : SUM);
    const Two earlier = look_back(status, tile, room, nearest);
    if (threadIdx.x == 0 && tile > 0) publish(status, tile, earlier + total, PREFIX);
    before = before + earlier;
    copy_ids(values + before.all, values_out + before.kept, (long long)sum.kept, lane);
}
