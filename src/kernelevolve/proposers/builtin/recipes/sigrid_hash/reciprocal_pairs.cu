// recipe: reciprocal_pairs
// family: sigrid_hash
// summary: two ids a read; the division is the high half of a product with 2^64 / max_value, corrected once
// isa: sm_90
// knob THREADS = 256 128 512
// knob PAIRS = 2 1 4
// knob BLOCKS_PER_SM = 6 4 8
// order: 20
typedef unsigned long long u64;

// All arithmetic wraps, so it is done on unsigned numbers.
__device__ __forceinline__ u64 hashed(u64 key, u64 salt) {
    const u64 multiplier = 0x9ddfea08eb382d69ull;
    key = ~key + (key << 21);
    key ^= key >> 24;
    key *= 265;
    key ^= key >> 14;
    key *= 21;
    key ^= key >> 28;
    key += key << 31;
    u64 a = (key ^ salt) * multiplier;
    a ^= a >> 47;
    u64 b = (salt ^ a) * multiplier;
    b ^= b >> 47;
    return b * multiplier;
}

// Floor-mod of the signed h: a negative h is -1 - a, whose rest is divisor - 1 - (a mod divisor). As a < 2^63, the
// estimated quotient is at most one too small.
__device__ __forceinline__ long long row_of(long long id, u64 salt, u64 divisor, u64 reciprocal) {
    const u64 h = hashed((u64)id, salt), sign = (u64)((long long)h >> 63), a = h ^ sign;
    u64 rest = a - __umul64hi(a, reciprocal) * divisor;
    rest = rest >= divisor ? rest - divisor : rest;
    return (long long)((rest ^ sign) + (divisor & sign));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM * THREADS > 1536 ? 1536 / THREADS : BLOCKS_PER_SM)
hash_ids(const long long* __restrict__ ids, long long* __restrict__ out, long long salt, long long max_value,
         long long n) {
    const longlong2* from = reinterpret_cast<const longlong2*>(ids);
    longlong2* to = reinterpret_cast<longlong2*>(out);
    const long long n_pairs = n / 2, step = (long long)gridDim.x * (THREADS * PAIRS);
    const u64 divisor = (u64)max_value, reciprocal = ~0ull / divisor, seed = (u64)salt;
    long long base = (long long)blockIdx.x * (THREADS * PAIRS) + threadIdx.x;
    longlong2 id[PAIRS];  // the next pair is on its way while one is hashed: otherwise all threads wait, then all hash
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        const long long p = base + k * THREADS;
        id[k] = p < n_pairs ? __ldcs(from + p) : longlong2{0, 0};
    }
    for (; base < n_pairs; base += step) {
#pragma unroll
        for (int k = 0; k < PAIRS; ++k) {
            const long long p = base + k * THREADS, next = p + step;
            const longlong2 now = id[k];
            if (next < n_pairs) id[k] = __ldcs(from + next);
            const longlong2 row{row_of(now.x, seed, divisor, reciprocal), row_of(now.y, seed, divisor, reciprocal)};
            if (p < n_pairs) __stcs(to + p, row);
        }
    }
    if (n % 2 == 1 && blockIdx.x == 0 && threadIdx.x == 0) {
        out[n - 1] = row_of(ids[n - 1], seed, divisor, reciprocal);
    }
}
