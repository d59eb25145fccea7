// recipe: short_keys
// family: map_id
// summary: 32 bits of a key and its bucket name it: all keys so in shared memory, or one 32-byte group a bucket
// isa: sm_90
// knob THREADS = 1024 512
// knob PAIRS = 4 2
// knob BUCKETS_PER_KEY = 2 4 1
// knob SCAN = 4 2
// order: 25
//
// Keys of a bucket lie side by side in the table and are less than 2^31 apart, so the low 32 bits of a key's distance
// from the lowest key decide: half the bytes of the table, and no second look at it. Small tables: every block keeps
// these 32 bits of all keys, and where each bucket begins and ends. Large ones: `build` writes for each bucket its
// start, how many keys it has and 32 bits of the first seven, one memory sector an id. Where the range of the keys is
// too wide for this, the bucket is searched in the table.
typedef unsigned long long u64;

#define SHARED_BYTES (226 * 1024)
#define KEPT 7  // keys in a group

struct Scale {
    u64 low, range;
    int shift;
    unsigned factor;
    // The top 32 bits of the distance from the lowest key, times n_buckets / the same bits of the range.
    __device__ Scale(const long long* table, int M, unsigned n_buckets) {
        low = (u64)table[0];
        range = (u64)table[M - 1] - low;
        shift = range == 0 ? 63 : __clzll((long long)range);
        const u64 top = (range << shift) >> 32;
        factor = (unsigned)(((u64)n_buckets << 32) / ((top < 0x80000000u ? 0x80000000u : top) + 1));
    }
    // Whether no bucket is wider than 2^31.
    __device__ bool narrow() const {
        return shift > 32 || (shift > 0 && (1ull << 32) / factor + 1 <= 1ull << (shift - 1));
    }
    __device__ unsigned bucket(u64 distance) const { return __umulhi((unsigned)((distance << shift) >> 32), factor); }
};

// Buckets for which there is room in shared memory beside the keys; 0 where that is too few.
__device__ __forceinline__ unsigned shared_buckets(int M) {
    const int room = M > 60000 ? 0 : SHARED_BYTES / 4 - M - 4;
    return room < M / 8 + 1 ? 0 : (unsigned)min(room, M * BUCKETS_PER_KEY + 4) / 4 * 4;
}

__device__ __forceinline__ unsigned groups_of(int M) { return (unsigned)M / 3 + 1; }

// First of equal keys among `count` ones at `at`, counted from 1, or 0.
__device__ __noinline__ int search(const long long* table, int at, int count, long long v) {
    const int end = at + count;
    while (count > 0) {
        const int half = count / 2;
        if (table[at + half] < v) at += half + 1, count -= half + 1;
        else count = half;
    }
    return at < end && table[at] == v ? at + 1 : 0;
}

// One thread per key. The first key of a bucket writes its group and those of the empty buckets before it, which have
// the same start: where a bucket ends, the next one starts.
extern "C" __global__ void __launch_bounds__(256)
build(const long long* __restrict__ table, uint4* __restrict__ groups, int M) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= M || shared_buckets(M) > 0) return;
    const unsigned n = groups_of(M);
    const Scale scale(table, M, n);
    const unsigned bucket = scale.bucket((u64)table[i] - scale.low);
    const unsigned from = i == 0 ? 0 : scale.bucket((u64)table[i - 1] - scale.low) + 1;
    if (from <= bucket) {
        unsigned key[KEPT + 1], count = 0;
#pragma unroll
        for (int k = 0; k <= KEPT; ++k) {
            const u64 distance = i + k < M ? (u64)table[i + k] - scale.low : 0;
            key[k] = (unsigned)distance;
            count += count == k && i + k < M && scale.bucket(distance) == bucket;
        }
        for (unsigned b = from; b < bucket; ++b) groups[2 * b] = uint4{(unsigned)i, 0, 0, 0};
        groups[2 * bucket] = uint4{(unsigned)i | count << 24, key[0], key[1], key[2]};
        groups[2 * bucket + 1] = uint4{key[3], key[4], key[5], key[6]};
    }
    if (i == M - 1)
        for (unsigned b = bucket + 1; b <= n; ++b) groups[2 * b] = uint4{(unsigned)M, 0, 0, 0};
}

// ends[b]: the bucket's start, and behind it where it ends. A warp takes a run of keys.
__device__ void fill(const Scale& scale, const long long* table, unsigned* keys, unsigned* ends, int M, unsigned n) {
    uint4* empty = reinterpret_cast<uint4*>(ends);
    for (unsigned b = threadIdx.x; b < n / 4; b += THREADS) empty[b] = uint4{0, 0, 0, 0};
    __syncthreads();
    unsigned short* half = reinterpret_cast<unsigned short*>(ends);
    const int lane = threadIdx.x % 32, warps = THREADS / 32;
    const int run = (M + 32 * warps - 1) / (32 * warps) * 32, first = (int)(threadIdx.x / 32) * run;
    const int end = min(M, first + run);
    unsigned before = first > 0 && first < M ? scale.bucket((u64)table[first - 1] - scale.low) : ~0u;
#pragma unroll 4
    for (int at = first; at < end; at += 32) {
        const int i = at + lane;
        const u64 distance = i < end ? (u64)__ldg(table + i) - scale.low : 0;
        const unsigned bucket = scale.bucket(distance);
        const unsigned other = __shfl_up_sync(~0u, bucket, 1), previous = lane == 0 ? before : other;
        before = __shfl_sync(~0u, bucket, 31);
        if (i < end) {
            keys[i] = (unsigned)distance;
            if (bucket != previous) {
                half[2 * bucket] = (unsigned short)i;
                if (i > 0) half[2 * previous + 1] = (unsigned short)i;
            }
            if (i == M - 1) half[2 * bucket + 1] = (unsigned short)M;
        }
    }
    __syncthreads();
}

struct Small {
    const long long* table;
    const unsigned *keys, *ends;
    bool narrow;

    __device__ __forceinline__ longlong2 find(const Scale& scale, longlong2 v) const {
        const u64 distance[2] = {(u64)v.x - scale.low, (u64)v.y - scale.low};
        int at[2], count[2], found[2] = {0, 0};
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const unsigned word = distance[j] <= scale.range ? ends[scale.bucket(distance[j])] : 0;
            at[j] = (int)(word & 0xffff);
            count[j] = (int)(word >> 16) - at[j];
        }
        if (!narrow) return longlong2{search(table, at[0], count[0], v.x), search(table, at[1], count[1], v.y)};
        while (max(count[0], count[1]) > SCAN) {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int half = count[j] > SCAN ? count[j] / 2 : 0;
                const unsigned key = half > 0 ? keys[at[j] + half - 1] : (unsigned)distance[j];
                at[j] += (int)(key - (unsigned)distance[j]) < 0 ? half : 0;
                count[j] -= half;
            }
        }
#pragma unroll
        for (int k = SCAN - 1; k >= 0; --k) {
#pragma unroll
            for (int j = 0; j < 2; ++j)
                if (k < count[j] && keys[at[j] + k] == (unsigned)distance[j]) found[j] = at[j] + k + 1;
        }
        return longlong2{found[0], found[1]};
    }
};

struct Large {
    const long long* table;
    const uint4* groups;
    bool narrow;

    __device__ __forceinline__ int rest(unsigned bucket, int at, long long v) const {
        return search(table, at, (int)(groups[2 * bucket + 2].x & 0xffffff) - at, v);
    }

    __device__ __forceinline__ longlong2 find(const Scale& scale, longlong2 v) const {
        const u64 distance[2] = {(u64)v.x - scale.low, (u64)v.y - scale.low};
        uint4 a[2], b[2];
        int found[2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const bool inside = distance[j] <= scale.range;
            const uint4* group = groups + 2 * scale.bucket(inside ? distance[j] : 0);
            a[j] = inside ? __ldg(group) : uint4{0, 0, 0, 0};
            b[j] = inside ? __ldg(group + 1) : uint4{0, 0, 0, 0};
        }
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const unsigned key = (unsigned)distance[j], count = a[j].x >> 24;
            const unsigned all[KEPT] = {a[j].y, a[j].z, a[j].w, b[j].x, b[j].y, b[j].z, b[j].w};
            const int start = (int)(a[j].x & 0xffffff);
            found[j] = 0;
#pragma unroll
            for (int k = KEPT - 1; k >= 0; --k)
                if (k < count && all[k] == key) found[j] = start + k + 1;
            if (count > 0 && (!narrow || (count > KEPT && found[j] == 0))) {
                found[j] = rest(scale.bucket(distance[j]), narrow ? start + KEPT : start, j == 0 ? v.x : v.y);
            }
        }
        return longlong2{found[0], found[1]};
    }
};

template <class Table>
__device__ __forceinline__ void answer(const Table& known, const Scale& scale, const long long* v, long long* out,
                                       long long n, longlong2 (&a)[PAIRS], long long base) {
    const long long n_pairs = n / 2, step = (long long)gridDim.x * (THREADS * PAIRS);
    for (; base < n_pairs; base += step) {
#pragma unroll
        for (int k = 0; k < PAIRS; ++k) {
            const long long p = base + k * THREADS, next = p + step;
            const longlong2 found = known.find(scale, a[k]);  // each pair is read again as soon as it is answered
            if (next < n_pairs) a[k] = __ldcs(reinterpret_cast<const longlong2*>(v) + next);
            if (p < n_pairs) __stcs(reinterpret_cast<longlong2*>(out) + p, found);
        }
    }
    if (n % 2 == 1 && blockIdx.x == 0 && threadIdx.x == 0) out[n - 1] = known.find(scale, longlong2{v[n - 1], 0}).x;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
look_up(const long long* __restrict__ v, const long long* __restrict__ table, const uint4* __restrict__ groups,
        long long* __restrict__ out, long long n, int M) {
    extern __shared__ uint4 room[];
    unsigned* ends = reinterpret_cast<unsigned*>(room);
    if (M == 0) {
        for (long long p = (long long)blockIdx.x * THREADS + threadIdx.x; p < n; p += (long long)gridDim.x * THREADS) {
            out[p] = 0;
        }
        return;
    }
    const unsigned small = shared_buckets(M);
    const long long base = (long long)blockIdx.x * (THREADS * PAIRS) + threadIdx.x;
    longlong2 a[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        const long long p = base + k * THREADS;
        a[k] = p < n / 2 ? __ldcs(reinterpret_cast<const longlong2*>(v) + p) : longlong2{0, 0};
    }
    const Scale scale(table, M, small > 0 ? small : groups_of(M));
    if (small > 0) {
        fill(scale, table, ends + small, ends, M, small);
        answer(Small{table, ends + small, ends, scale.narrow()}, scale, v, out, n, a, base);
    } else {
        answer(Large{table, groups, scale.narrow()}, scale, v, out, n, a, base);
    }
}
