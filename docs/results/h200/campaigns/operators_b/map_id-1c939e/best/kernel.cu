// map_id: step 10 of campaign map_id-1c939e
#define KE_DTYPE_float32 1
#define THREADS 1024
#define PAIRS 2
#define HALVES 4
#define SCAN 3
#define CLUSTER 1
#define EARLY 4
#define AHEAD 4
#define THIRDS 3
#define EVEN 0
#define STREAM 1
// recipe: ready_image
// family: map_id
// summary: an index made once and copied whole into shared memory by bulk copies, while ids are fetched into the L2
// isa: sm_90
// where: M <= 1048576
// knob THREADS = 1024 512
// knob PAIRS = 2 4 8
// knob HALVES = 4 2 3
// knob SCAN = 4 3 2
// knob CLUSTER = 1 2
// knob EARLY = 4 8 0
// knob AHEAD = 4 8 0
// knob THIRDS = 3 4 2
// knob EVEN = 0 1
// knob STREAM = 1 0
// order: 22
//
// Keys of a bucket lie side by side in the table. Small tables: where each bucket begins, and 32 bits of a key, which
// name it within its bucket. `prepare` writes this image once; in `look_up` every block only copies it. Large tables:
// one 16-byte entry a bucket with its start, its count and 26 bits of its first four keys, so that an id costs one read
// of one memory sector. Where the keys' range is too wide for these bits, lower ones are dropped and the table decides.
//
// HALVES: buckets per two keys in shared memory, THIRDS: per three keys in entries. EARLY: pieces of ids a block that
// `prepare` orders into the L2 meanwhile, AHEAD: those that `look_up` orders before its image has arrived. CLUSTER 2:
// two blocks share one reading of the image. EVEN: both launches want the same split of cache and shared memory.
typedef unsigned long long u64;

#define LIMIT 51200         // keys of a small table at most; the launch plan has it too
#define IMAGE_BYTES 231360  // at most, in 226 KiB of shared memory
#define GRID 132
#define LOW_26 0x3ffffffu
#define STORE(at, value) (STREAM ? __stcs(at, value) : (void)(*(at) = (value)))

struct Scale {
    u64 low, range;
    int shift, drop;
    unsigned factor;
    // Bucket: the top 32 bits of the distance from the lowest key, times n_buckets / the same bits of the range.
    // The distances of a bucket differ by less than 2^(bits + drop).
    __device__ Scale(long long lowest, long long highest, unsigned n_buckets, int bits) {
        low = (u64)lowest;
        range = (u64)highest - low;
        shift = range == 0 ? 63 : __clzll((long long)range);
        const unsigned top = range == 0 ? 0x80000000u : (unsigned)((range << shift) >> 32);
        // Smaller than the quotient by more than the errors of these operations: no bucket reaches n_buckets.
        const float quotient = __fdividef((float)n_buckets * 4294967296.0f, __uint2float_rn(top));
        factor = __float2uint_rd(__fmul_rn(quotient, 1.0f - 0x1p-20f));
        drop = max(0, 65 - (31 - __clz((int)factor)) - shift - bits);
    }
    __device__ __forceinline__ unsigned bucket(u64 distance) const {
        return __umulhi((unsigned)((distance << shift) >> 32), factor);
    }
    __device__ __forceinline__ unsigned key(u64 distance) const { return (unsigned)(distance >> drop); }
};

// The image: two bytes a bucket with its start, two starts more, for ids outside the table's range; then the keys.
__device__ __forceinline__ unsigned small_buckets(int M) {
    return min((IMAGE_BYTES - 16 - (M + 3) / 4 * 16) / 2, max(M * HALVES / 2, 4096)) / 8 * 8;
}

__device__ __forceinline__ unsigned first_key(unsigned n_buckets) { return 2 * n_buckets + 16; }  // in bytes

__device__ __forceinline__ unsigned large_buckets(int M) { return (unsigned)M * THIRDS / 3 + 1; }

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

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void order_into_l2(const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_begin(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\n fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_wait(unsigned barrier) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier)
                     : "memory");
}

#if CLUSTER > 1
#define TO_CLUSTER ".multicast::cluster [%0], [%1], %2, [%3], %4;"
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
#else
#define TO_CLUSTER " [%0], [%1], %2, [%3];"
#endif
__device__ __forceinline__ void bulk_in(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" TO_CLUSTER ::"r"(to), "l"(from),
                 "r"(bytes), "r"(barrier), "h"((unsigned short)((1 << CLUSTER) - 1))
                 : "memory");
}

// The lanes of a warp order `n_pieces` of a block's pieces of ids from the `first` on, a quarter at a time.
__device__ __forceinline__ void order_ids(const long long* v, long long n, int block, int first, int n_pieces) {
    for (int part = threadIdx.x % 32; part < 4 * n_pieces; part += 32) {
        const long long p = ((long long)(first + part / 4) * GRID + block) * THREADS + part % 4 * (THREADS / 4);
        const long long count = min(n / 2 - p, (long long)(THREADS / 4));
        if (count > 0) order_into_l2(v + 2 * p, (unsigned)count * 16);
    }
}

// For key i of a small table; `previous` is the key before it.
__device__ __forceinline__ void write_small(const Scale& scale, uint4* image, int i, long long key, long long previous,
                                            int M, unsigned n) {
    unsigned short* starts = reinterpret_cast<unsigned short*>(image);
    const u64 distance = (u64)key - scale.low;
    const unsigned bucket = scale.bucket(distance);
    const unsigned from = i == 0 ? 0 : scale.bucket((u64)previous - scale.low) + 1;
    reinterpret_cast<unsigned*>(image + first_key(n) / 16)[i] = scale.key(distance);
    for (unsigned b = from; b <= bucket; ++b) starts[b] = (unsigned short)i;
    if (i == M - 1)
        for (unsigned b = bucket + 1; b <= n + 1; ++b) starts[b] = (unsigned short)M;
}

// Four times 26 bits of a key, and above them 6 bits each of start (21 bits) and count (3 bits; 5: more than 4).
__device__ __forceinline__ uint4 entry_of(unsigned start, unsigned count, const unsigned (&key)[4]) {
    const unsigned facts = start | count << 21;
    return uint4{(key[0] & LOW_26) | (facts >> 18) << 26, (key[1] & LOW_26) | (facts >> 12) << 26,
                 (key[2] & LOW_26) | (facts >> 6) << 26, (key[3] & LOW_26) | facts << 26};
}

__device__ __forceinline__ unsigned facts_of(uint4 e) {
    return __funnelshift_l(e.w, __funnelshift_l(e.z, __funnelshift_l(e.y, e.x >> 26, 6), 6), 6);
}

__device__ __forceinline__ void write_large(const Scale& scale, const long long* table, uint4* entries, int i,
                                            long long key, long long previous, int M, unsigned n) {
    const u64 distance = (u64)key - scale.low;
    const unsigned bucket = scale.bucket(distance);
    const unsigned from = i == 0 ? 0 : scale.bucket((u64)previous - scale.low) + 1;
    if (from <= bucket) {
        unsigned kept[4] = {scale.key(distance), 0, 0, 0}, count = 1;
#pragma unroll
        for (int k = 1; k <= 4; ++k) {
            const u64 other = i + k < M ? (u64)__ldg(table + i + k) - scale.low : 0;
            const bool same = i + k < M && scale.bucket(other) == bucket;  // sorted: never again after a false
            count += same;
            if (k < 4) kept[k] = same ? scale.key(other) : kept[0];
        }
        for (unsigned b = from; b < bucket; ++b) entries[b] = entry_of((unsigned)i, 0, {0, 0, 0, 0});
        entries[bucket] = entry_of((unsigned)i, count, kept);
    }
    if (i == M - 1)
        for (unsigned b = bucket + 1; b <= n; ++b) entries[b] = entry_of((unsigned)M, 0, {0, 0, 0, 0});
}

extern "C" __global__ void __launch_bounds__(256)
prepare(const long long* __restrict__ v, const long long* __restrict__ table, uint4* __restrict__ image, long long n,
        int M) {
    const int step = (int)gridDim.x * 256;
    int i = (int)blockIdx.x * 256 + (int)threadIdx.x;
    const bool some = i < M, small = M <= LIMIT;
    const unsigned n_buckets = small ? small_buckets(M) : large_buckets(M);
    const long long lowest = some ? __ldg(table) : 0, highest = some ? __ldg(table + M - 1) : 0;
    long long key = some ? __ldg(table + i) : 0, previous = some ? __ldg(table + max(i - 1, 0)) : 0;
    if (threadIdx.x >= 224 && blockIdx.x < GRID) order_ids(v, n, (int)blockIdx.x, 0, EARLY);
    if (!some) return;
    const Scale scale(lowest, highest, n_buckets, small ? 30 : 26);
    for (;;) {
        const bool more = i < M - step;
        const long long next = more ? __ldg(table + i + step) : 0, before = more ? __ldg(table + i + step - 1) : 0;
        if (small) write_small(scale, image, i, key, previous, M, n_buckets);
        else write_large(scale, table, image, i, key, previous, M, n_buckets);
        if (!more) return;
        i += step, key = next, previous = before;
    }
}

// A plain read would ask for the block's number in its cluster each time.
__device__ __forceinline__ unsigned read_shared(unsigned at) {
    unsigned word;
    asm("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at));
    return word;
}
__device__ __forceinline__ int read_shared_start(unsigned at) {
    int start;
    asm("ld.shared.u16 %0, [%1];" : "=r"(start) : "r"(at));
    return start;
}

// `starts` and `keys` are addresses in shared memory. EXACT: the bits kept of a key name it.
template <bool EXACT>
struct Small {
    const long long* table;
    unsigned starts, keys, n;

    __device__ __forceinline__ longlong2 find(const Scale& scale, longlong2 v) const {
        const u64 distance[2] = {(u64)v.x - scale.low, (u64)v.y - scale.low};
        unsigned key[2];
        int start[2], end[2], at[2], count[2], found[2] = {0, 0};
        for (int j = 0; j < 2; ++j) {
            const unsigned place = starts + 2 * (distance[j] <= scale.range ? scale.bucket(distance[j]) : n);
            at[j] = start[j] = read_shared_start(place);
            end[j] = read_shared_start(place + 2);
            count[j] = end[j] - start[j];
            key[j] = EXACT ? (unsigned)distance[j] : scale.key(distance[j]);
        }
        while (max(count[0], count[1]) > SCAN) {
            for (int j = 0; j < 2; ++j) {
                const int half = count[j] > SCAN ? count[j] / 2 : 0;
                const unsigned other = half > 0 ? read_shared(keys + 4 * (at[j] + half - 1)) : key[j];
                at[j] += (int)(other - key[j]) < 0 ? half : 0;
                count[j] -= half;
            }
        }
#pragma unroll
        for (int k = SCAN - 1; k >= 0; --k) {
            for (int j = 0; j < 2; ++j)
                if (k < count[j] && read_shared(keys + 4 * at[j] + 4 * k) == key[j]) found[j] = at[j] + k + 1;
        }
        for (int j = 0; j < 2; ++j) {
            const long long wanted = j == 0 ? v.x : v.y;
            if (!EXACT && found[j] > 0 && __ldg(table + found[j] - 1) != wanted) {
                found[j] = search(table, start[j], end[j] - start[j], wanted);
            }
        }
        return longlong2{found[0], found[1]};
    }
};

// Piece j of a block: THREADS pairs from (j * GRID + block) * THREADS on. So the last round is spread over all blocks.
struct Pieces {
    const longlong2* in;
    longlong2* out;
    int count;  // of this thread
    __device__ Pieces(const long long* v, long long* o, long long n) {
        const long long first = (long long)blockIdx.x * THREADS + threadIdx.x, left = n / 2 - first;
        in = reinterpret_cast<const longlong2*>(v) + first;
        out = reinterpret_cast<longlong2*>(o) + first;
        count = left > 0 ? (int)((left + GRID * THREADS - 1) / (GRID * THREADS)) : 0;
    }
};

template <bool EXACT>
__device__ __forceinline__ void answer_small(const Small<EXACT> known, const Scale& scale, Pieces pieces,
                                             longlong2 (&a)[PAIRS], bool odd, long long last, long long* last_out) {
    if (odd) *last_out = known.find(scale, longlong2{last, last}).x;
    for (int left = pieces.count; left > 0; left -= PAIRS) {
        pieces.in += PAIRS * GRID * THREADS;
#pragma unroll
        for (int k = 0; k < PAIRS; ++k) {
            if (k < left) {
                const longlong2 r = known.find(scale, a[k]);
                if (k + PAIRS < left) a[k] = __ldcs(pieces.in + k * GRID * THREADS);
                STORE(pieces.out + k * GRID * THREADS, r);
            }
        }
        pieces.out += PAIRS * GRID * THREADS;
    }
}

template <bool EXACT>
struct Large {
    const long long* table;
    const uint4* entries;
    int M;

    __device__ __forceinline__ uint4 entry(const Scale& scale, u64 distance, bool wanted) const {
        return wanted && distance <= scale.range ? __ldg(entries + scale.bucket(distance)) : uint4{0, 0, 0, 0};
    }

    __device__ __forceinline__ long long find(const Scale& scale, uint4 e, u64 distance) const {
        const long long v = (long long)(distance + scale.low);
        const unsigned key = EXACT ? (unsigned)distance : scale.key(distance);
        const unsigned facts = facts_of(e), start = facts & 0x1fffff, count = facts >> 21;
        unsigned place = ((e.w ^ key) & LOW_26) == 0 ? start + 4 : 0;
        place = ((e.z ^ key) & LOW_26) == 0 ? start + 3 : place;
        place = ((e.y ^ key) & LOW_26) == 0 ? start + 2 : place;
        place = ((e.x ^ key) & LOW_26) == 0 ? start + 1 : place;
        int found = count > 0 ? (int)place : 0;
        bool open = !EXACT && found > 0 && __ldg(table + found - 1) != v;
        if (found == 0 && count > 4) {  // the next four keys in one step
            long long other[4];
            for (int k = 0; k < 4; ++k) other[k] = __ldg(table + min((int)start + 4 + k, M - 1));
            for (int k = 3; k >= 0; --k)
                if (other[k] == v) found = min((int)start + 5 + k, M);
            open = found == 0 && other[3] < v;
        }
        if (open) {
            const unsigned end = facts_of(__ldg(entries + scale.bucket(distance) + 1)) & 0x1fffff;
            found = search(table, (int)start, (int)(end - start), v);
        }
        return found;
    }
};

template <bool EXACT>
__device__ __forceinline__ void answer_large(const Large<EXACT> known, const Scale& scale, Pieces pieces,
                                             longlong2 (&a)[PAIRS], bool odd, const long long* last,
                                             long long* last_out) {
    for (int left = pieces.count; left > 0; left -= PAIRS) {
        pieces.in += PAIRS * GRID * THREADS;
#pragma unroll
        for (int k = 0; k < PAIRS; k += 2) {
            u64 distance[4];
            uint4 e[4];
            for (int j = 0; j < 4; ++j) {
                distance[j] = (u64)(j % 2 ? a[k + j / 2].y : a[k + j / 2].x) - scale.low;
                e[j] = known.entry(scale, distance[j], k + j / 2 < left);
            }
#pragma unroll
            for (int j = k; j < k + 2; ++j)
                if (j + PAIRS < left) a[j] = __ldcs(pieces.in + j * GRID * THREADS);
            for (int j = 0; j < 2; ++j) {
                const u64 one = distance[2 * j], two = distance[2 * j + 1];
                const longlong2 r{known.find(scale, e[2 * j], one), known.find(scale, e[2 * j + 1], two)};
                if (k + j < left) STORE(pieces.out + (k + j) * GRID * THREADS, r);
            }
        }
        pieces.out += PAIRS * GRID * THREADS;
    }
    if (odd) {
        const u64 distance = (u64)*last - scale.low;
        *last_out = known.find(scale, known.entry(scale, distance, true), distance);
    }
}

// Warp 0 of each block. Blocks begin at different places, so that they do not all want the same lines at once.
__device__ __forceinline__ void copy_image(unsigned to, const uint4* image, unsigned bytes, unsigned barrier) {
    const unsigned piece = (bytes + 4095) / 4096 * 128, number = (threadIdx.x + blockIdx.x / CLUSTER) % 32;
    const unsigned begin = number * piece;
    if (number % CLUSTER == blockIdx.x % CLUSTER && begin < bytes) {
        bulk_in(to + begin, reinterpret_cast<const char*>(image) + begin, min(piece, bytes - begin), barrier);
    }
}

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(THREADS, 1)
look_up(const long long* __restrict__ v, const long long* __restrict__ table, const uint4* __restrict__ image,
        long long* __restrict__ out, long long n, int M) {
    extern __shared__ uint4 room[];
    __shared__ u64 arrived;
    if (M == 0) {
        for (long long p = (long long)blockIdx.x * THREADS + threadIdx.x; p < n; p += GRID * THREADS) out[p] = 0;
        return;
    }
    const bool small = M <= LIMIT;
    const unsigned n_buckets = small ? small_buckets(M) : large_buckets(M), barrier = shared_address(&arrived);
    unsigned at = shared_address(room), bytes = first_key(n_buckets) + (M + 3) / 4 * 16;
    if (small && threadIdx.x == 0) barrier_begin(barrier, bytes);
#if CLUSTER > 1
    cluster_arrive();
#else
    __syncwarp();
    if (small && threadIdx.x < 32) copy_image(at, image, bytes, barrier);
#endif
    const long long lowest = __ldg(table), highest = __ldg(table + M - 1);
    const Pieces pieces(v, out, n);
    longlong2 a[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        a[k] = k < pieces.count ? __ldcs(pieces.in + k * GRID * THREADS) : longlong2{0, 0};
    }
    const bool odd = n % 2 == 1 && blockIdx.x == GRID - 1 && threadIdx.x == THREADS - 1;
#if CLUSTER > 1
    cluster_wait();  // both blocks' barriers are ready
    if (small && threadIdx.x < 32) copy_image(at, image, bytes, barrier);
#endif
    if (AHEAD > 0 && threadIdx.x >= THREADS - 32) order_ids(v, n, (int)blockIdx.x, max(PAIRS, EARLY), AHEAD);
    if (small) {
        const Scale scale(lowest, highest, n_buckets, 30);
        const long long last = odd ? v[n - 1] : 0;
        __syncthreads();  // the barrier is ready for all
        barrier_wait(barrier);
        asm volatile("" : "+r"(at)::"memory");  // nothing is read from there before
        const Small<true> exact{table, at, at + first_key(n_buckets), n_buckets};
        const Small<false> rough{table, at, at + first_key(n_buckets), n_buckets};
        if (scale.drop == 0) answer_small(exact, scale, pieces, a, odd, last, out + n - 1);
        else answer_small(rough, scale, pieces, a, odd, last, out + n - 1);
    } else {
        const Scale scale(lowest, highest, n_buckets, 26);
        if (scale.drop == 0) answer_large(Large<true>{table, image, M}, scale, pieces, a, odd, v + n - 1, out + n - 1);
        else answer_large(Large<false>{table, image, M}, scale, pieces, a, odd, v + n - 1, out + n - 1);
    }
#if CLUSTER > 1
    cluster_arrive();  // what this block copies to the other one has arrived there
    cluster_wait();
#endif
}
