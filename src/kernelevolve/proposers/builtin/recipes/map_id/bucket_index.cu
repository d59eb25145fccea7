// recipe: bucket_index
// family: map_id
// summary: an index over evenly wide buckets: with the table in shared memory where both fit, else as 16-byte entries
// isa: sm_90
// knob SHARED_KB = 216 104 64
// knob THREADS = 1024 512 256
// knob BLOCKS_PER_SM = 1 2 4
// knob PAIRS = 4 2 8
// knob BUCKETS_PER_KEY = 2 1 4
// order: 30
//
// A key's bucket grows with the key, so the keys of a bucket lie side by side in the table. Small tables: every block
// copies the table and notes where each bucket starts. Large ones: `build` writes for each bucket its first key, where
// it starts and how many keys it has, which answers most ids with one read.
typedef unsigned long long u64;

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
    __device__ bool inside(long long key) const { return (u64)key - low <= range; }
    __device__ unsigned bucket(long long key) const {
        return __umulhi((unsigned)((((u64)key - low) << shift) >> 32), factor);
    }
};

__device__ __forceinline__ unsigned entries_of(int M) { return (unsigned)M * BUCKETS_PER_KEY; }

// Buckets for which there is room beside the table in shared memory.
__device__ __forceinline__ int shared_buckets(int M) {
    const int room = (SHARED_KB * 1024 - 8 * M) / 2 - 8;
    return M > 60000 ? 0 : min(room, 2 * M);
}

__device__ __forceinline__ bool fits_shared(int M) { return shared_buckets(M) >= (M + 1) / 2; }

// First of equal keys at or after `at` among `count`, or 0 when v is not there; the answer counts from 1.
__device__ __forceinline__ long long search(const long long* table, int at, int count, long long v) {
    const int end = at + count;
    while (count > 4) {
        const int half = count / 2;
        at += table[at + half - 1] < v ? half : 0;
        count -= half;
    }
    while (at < end && table[at] < v) ++at;
    return at < end && table[at] == v ? at + 1LL : 0LL;
}

// One thread per key. The first key of a bucket writes its entry and the empty ones before it.
extern "C" __global__ void __launch_bounds__(256)
build(const long long* __restrict__ table, longlong2* __restrict__ entries, int M) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= M || fits_shared(M)) return;
    const unsigned n = entries_of(M);
    const Scale scale(table, M, n);
    const unsigned bucket = scale.bucket(table[i]);
    const unsigned from = i == 0 ? 0 : scale.bucket(table[i - 1]) + 1;
    if (from <= bucket) {
        int step = 1, end = i + 1;  // gallop, then halve, to the first key of a later bucket
        while (end < M && scale.bucket(table[end]) == bucket) end = min(M, end + step), step *= 2;
        int begin = i + 1;
        while (begin < end) {
            const int middle = begin + (end - begin) / 2;
            if (scale.bucket(table[middle]) == bucket) begin = middle + 1;
            else end = middle;
        }
        for (unsigned b = from; b < bucket; ++b) entries[b] = longlong2{0, 0};
        entries[bucket] = longlong2{table[i], (long long)((u64)(begin - i) << 32 | (unsigned)i)};
    }
    if (i == M - 1)
        for (unsigned b = bucket + 1; b < n; ++b) entries[b] = longlong2{0, 0};
}

__device__ __forceinline__ long long in_shared(const Scale& scale, const long long* keys, const unsigned short* start,
                                               long long v) {
    if (!scale.inside(v)) return 0;
    const unsigned bucket = scale.bucket(v);
    const int at = start[bucket];
    return search(keys, at, start[bucket + 1] - at, v);
}

__device__ __forceinline__ longlong2 entry_of(const Scale& scale, const longlong2* entries, long long v) {
    return scale.inside(v) ? __ldg(entries + scale.bucket(v)) : longlong2{0, 0};
}

__device__ __forceinline__ long long by_entry(const long long* table, longlong2 entry, long long v) {
    const int count = (int)((u64)entry.y >> 32), at = (int)(unsigned)entry.y;
    if (count > 0 && entry.x == v) return at + 1LL;
    return count > 1 && entry.x < v ? search(table, at + 1, count - 1, v) : 0LL;
}

__device__ void fill_shared(const Scale& scale, const long long* table, long long* keys, unsigned short* start, int M,
                            int n_buckets) {
    for (int i = threadIdx.x; i < M; i += THREADS) keys[i] = table[i];
    __syncthreads();
    for (int i = threadIdx.x; i <= M; i += THREADS) {
        const int from = i == 0 ? 0 : (int)scale.bucket(keys[i - 1]) + 1;
        const int to = i == M ? n_buckets : (int)scale.bucket(keys[i]);
        for (int b = from; b <= to; ++b) start[b] = (unsigned short)i;
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM * THREADS > 2048 ? 1 : BLOCKS_PER_SM)
look_up(const long long* __restrict__ v, const long long* __restrict__ table, const longlong2* __restrict__ entries,
        long long* __restrict__ out, long long n, int M) {
    extern __shared__ long long keys[];
    const long long n_pairs = n / 2, step = (long long)gridDim.x * (THREADS * PAIRS);
    long long base = (long long)blockIdx.x * (THREADS * PAIRS) + threadIdx.x;
    const longlong2* wanted = reinterpret_cast<const longlong2*>(v);
    longlong2* found = reinterpret_cast<longlong2*>(out);
    const bool shared = M > 0 && fits_shared(M), last = n % 2 == 1 && blockIdx.x == 0 && threadIdx.x == 0;
    if (M == 0) {
        for (long long p = (long long)blockIdx.x * THREADS + threadIdx.x; p < n; p += (long long)gridDim.x * THREADS) {
            out[p] = 0;
        }
        return;
    }
    const Scale scale(table, M, shared ? (unsigned)shared_buckets(M) : entries_of(M));
    unsigned short* start = reinterpret_cast<unsigned short*>(keys + M);
    const auto pair = [&](long long p) { return p < n_pairs ? __ldcs(wanted + p) : longlong2{0, 0}; };
    longlong2 a[PAIRS];  // each pair is read again as soon as it is answered
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) a[k] = pair(base + k * THREADS);
    if (shared) fill_shared(scale, table, keys, start, M, shared_buckets(M));
    for (; base < n_pairs; base += step) {
        if (shared) {
#pragma unroll
            for (int k = 0; k < PAIRS; ++k) {
                const long long p = base + k * THREADS;
                const longlong2 r{in_shared(scale, keys, start, a[k].x), in_shared(scale, keys, start, a[k].y)};
                if (p < n_pairs) __stcs(found + p, r);
                a[k] = pair(p + step);
            }
        } else {
#pragma unroll
            for (int k = 0; k < PAIRS; k += 2) {
                longlong2 e[4];
#pragma unroll
                for (int j = 0; j < 2; ++j) {
                    e[2 * j] = entry_of(scale, entries, a[k + j].x);
                    e[2 * j + 1] = entry_of(scale, entries, a[k + j].y);
                }
#pragma unroll
                for (int j = 0; j < 2; ++j) {
                    const long long p = base + (k + j) * THREADS;
                    const longlong2 r{by_entry(table, e[2 * j], a[k + j].x), by_entry(table, e[2 * j + 1], a[k + j].y)};
                    if (p < n_pairs) __stcs(found + p, r);
                    a[k + j] = pair(p + step);
                }
            }
        }
    }
    if (last) {
        const long long id = v[n - 1];
        out[n - 1] = shared ? in_shared(scale, keys, start, id) : by_entry(table, entry_of(scale, entries, id), id);
    }
}
