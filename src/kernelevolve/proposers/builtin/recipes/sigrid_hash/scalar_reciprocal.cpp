// recipe: scalar_reciprocal
// family: sigrid_hash
// summary: the division becomes the high half of a product with 2^64 / max_value, corrected once
// knob UNROLL = 4 1 2 8
// knob MIN_PARALLEL = 4096 1024 32768
// order: 20
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

// All arithmetic wraps, so it is done on unsigned numbers.
static inline uint64_t hash(uint64_t key, uint64_t salt) {
    constexpr uint64_t kMultiplier = 0x9ddfea08eb382d69u;
    key = ~key + (key << 21);
    key ^= key >> 24;
    key = key * 265;
    key ^= key >> 14;
    key = key * 21;
    key ^= key >> 28;
    key += key << 31;
    uint64_t a = (key ^ salt) * kMultiplier;
    a ^= a >> 47;
    uint64_t b = (salt ^ a) * kMultiplier;
    b ^= b >> 47;
    return b * kMultiplier;
}

// floor-mod of the signed h: a negative h is -1 - a, whose rest is divisor - 1 - (a mod divisor).
// a < 2^63, so the estimated quotient is at most one too small.
static inline int64_t floor_mod(uint64_t h, uint64_t divisor, uint64_t reciprocal) {
    const uint64_t sign = static_cast<uint64_t>(static_cast<int64_t>(h) >> 63);
    const uint64_t a = h ^ sign;
    const auto quotient = static_cast<uint64_t>((static_cast<unsigned __int128>(a) * reciprocal) >> 64);
    uint64_t rest = a - quotient * divisor;
    const uint64_t less = rest - divisor;
    rest = rest >= divisor ? less : rest;
    return static_cast<int64_t>((rest ^ sign) + (divisor & sign));
}

extern "C" int sigrid_hash(const int64_t* ids, int64_t salt, int64_t max_value, int64_t* out, int64_t N) {
    const auto divisor = static_cast<uint64_t>(max_value), seed = static_cast<uint64_t>(salt);
    const uint64_t reciprocal = ~uint64_t{0} / divisor;
    const int64_t n_blocks = N / UNROLL;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t block = 0; block < n_blocks; ++block)
#pragma GCC unroll 8
        for (int u = 0; u < UNROLL; ++u) {
            const int64_t i = block * UNROLL + u;
            out[i] = floor_mod(hash(static_cast<uint64_t>(ids[i]), seed), divisor, reciprocal);
        }
    for (int64_t i = n_blocks * UNROLL; i < N; ++i)
        out[i] = floor_mod(hash(static_cast<uint64_t>(ids[i]), seed), divisor, reciprocal);
    return 0;
}
