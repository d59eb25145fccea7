// sigrid_hash: step 11 of campaign sigrid_hash-da6e3c
#define KE_DTYPE_float32 1
#define THREADS 128
#define PAIRS 2
#define ROUNDS 1
#define PER_SM 1536
#define STREAM_OUT 1
// recipe: word_modulo
// family: sigrid_hash
// summary: tables below 2^30 rows: rests in 32-bit words; the block works its reciprocal out while the first ids travel
// isa: sm_90
// knob THREADS = 256 128 512
// knob PAIRS = 2 1 4
// knob ROUNDS = 1 4 16
// knob PER_SM = 1536 1024 2048
// knob STREAM_OUT = 1 0
// order: 15
//
// A thread has PAIRS reads of two ids in flight and goes round about ROUNDS times. PER_SM threads find room on a
// multiprocessor.
typedef unsigned long long u64;
typedef unsigned u32;

__device__ __forceinline__ u32 high_word(u64 x) { return (u32)(x >> 32); }

__device__ __forceinline__ u64 joined(u32 low, u32 high) { return (u64)high << 32 | low; }

// Products are written down: the compiler adds the parts of an upper word up apart. All arithmetic wraps.
__device__ __forceinline__ u32 multiply_add(u32 x, u32 y, u32 z) {
    u32 result;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(z));
    return result;
}
__device__ __forceinline__ u64 wide_product(u32 x, u32 y) {
    u64 result;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(result) : "r"(x), "r"(y));
    return result;
}
__device__ __forceinline__ u64 times(u64 x, u32 y) {
    const u64 low = wide_product((u32)x, y);
    return joined((u32)low, multiply_add(high_word(x), y, high_word(low)));
}
__device__ __forceinline__ u64 times_multiplier(u64 x) {
    const u32 y_low = 0xeb382d69u, y_high = 0x9ddfea08u;
    const u64 low = wide_product((u32)x, y_low);
    return joined((u32)low, multiply_add(high_word(x), y_low, multiply_add((u32)x, y_high, high_word(low))));
}

__device__ __forceinline__ u64 hashed(u64 key, u64 salt) {
    key = times(key, 0x1fffffu) - 1;  // ~key + (key << 21)
    key ^= key >> 24;
    key = times(key, 265);
    key ^= key >> 14;
    key = times(key, 21);
    key ^= key >> 28;
    key = times(key, 0x80000001u);
    u64 a = times_multiplier(key ^ salt);
    a ^= a >> 47;
    u64 b = times_multiplier(salt ^ a);
    b ^= b >> 47;
    return times_multiplier(b);
}

// With v = h + 2^63, h mod d is (v mod d + (-2^63 mod d)) mod d. The estimated quotient of v is at most one too small,
// so that sum is below 3 d, which fits 32 bits: only the low words of quotient and rest are needed.
struct Small {
    u32 divisor, shift, low, high;  // the words of (2^64 - 1) / divisor

    __device__ void prepare(u64 d) {
        divisor = (u32)d, high = ~0u / divisor;
        const u64 left = joined(~0u, ~0u - high * divisor);  // below 2^32 times the divisor
        low = (u32)__double2uint_rz((double)left * (1.0 / divisor));
        const long long rest = (long long)(left - (u64)low * divisor);  // the estimate is at most one off
        low += rest < 0 ? ~0u : rest >= (long long)d ? 1u : 0u;
        const u32 half = 0u - (u32)(joined(low, high) >> 1) * divisor, rest63 = min(half, half - divisor);
        shift = rest63 == 0 ? 0 : divisor - rest63;
    }
    __device__ __forceinline__ u64 row_of(u64 id, u64 salt) const {
        const u64 h = hashed(id, salt);
        const u32 v_low = (u32)h, v_high = high_word(h) ^ 0x80000000u;
        const u64 a = (u64)v_low * high + __umulhi(v_low, low), b = (u64)v_high * low + (u32)a;
        const u32 quotient = v_high * high + high_word(a) + high_word(b);
        u32 rest = multiply_add(quotient, 0u - divisor, v_low + shift);
        rest = min(rest, rest - divisor);
        return min(rest, rest - divisor);
    }
};

// Floor-mod of the signed h: a negative h is -1 - a, whose rest is divisor - 1 - (a mod divisor). As a < 2^63, the
// estimated quotient is at most one too small.
struct Any {
    u64 divisor, reciprocal;

    __device__ void prepare(u64 d) { divisor = d, reciprocal = ~0ull / d; }
    __device__ __forceinline__ u64 row_of(u64 id, u64 salt) const {
        const u64 h = hashed(id, salt), sign = (u64)((long long)h >> 63), a = h ^ sign;
        u64 rest = a - __umul64hi(a, reciprocal) * divisor;
        rest = rest >= divisor ? rest - divisor : rest;
        return (rest ^ sign) + (divisor & sign);
    }
};

template <typename Modulo>
__device__ __forceinline__ void hash_some(const u64* __restrict__ ids, u64* __restrict__ out, u64 salt, u64 divisor,
                                          long long n, Modulo* shared) {
    const ulonglong2* from = reinterpret_cast<const ulonglong2*>(ids);
    ulonglong2* to = reinterpret_cast<ulonglong2*>(out);
    const long long n_pairs = n / 2, step = (long long)gridDim.x * (THREADS * PAIRS);
    long long base = (long long)blockIdx.x * (THREADS * PAIRS) + threadIdx.x;
    ulonglong2 id[PAIRS] = {};
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        if (base + k * THREADS < n_pairs) id[k] = __ldcs(from + base + k * THREADS);
    }
    if (threadIdx.x == 0) shared->prepare(divisor);
    __syncthreads();
    const Modulo modulo = *shared;
    for (; base < n_pairs; base += step) {
#pragma unroll
        for (int k = 0; k < PAIRS; ++k) {
            const long long p = base + k * THREADS;
            const ulonglong2 now = id[k];
            if (ROUNDS > 1 && p + step < n_pairs) id[k] = __ldcs(from + p + step);
            const ulonglong2 row{modulo.row_of(now.x, salt), modulo.row_of(now.y, salt)};
            if (p >= n_pairs) break;
            if (STREAM_OUT) __stcs(to + p, row);
            else to[p] = row;
        }
        if (ROUNDS == 1) break;
    }
    if (n % 2 == 1 && blockIdx.x == 0 && threadIdx.x == 0) out[n - 1] = modulo.row_of(ids[n - 1], salt);
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM / THREADS)
hash_ids(const u64* __restrict__ ids, u64* __restrict__ out, long long salt, long long max_value, long long n) {
    __shared__ Small small;
    __shared__ Any any;
    if (max_value < (1 << 30)) hash_some(ids, out, (u64)salt, (u64)max_value, n, &small);
    else hash_some(ids, out, (u64)salt, (u64)max_value, n, &any);
}
