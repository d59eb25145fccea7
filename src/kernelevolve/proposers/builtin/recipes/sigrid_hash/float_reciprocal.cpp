// recipe: float_reciprocal
// family: sigrid_hash
// summary: quotient estimated in double precision, exact rest in wrapping integers; a plain loop that vectorises
// knob CHUNK = 1024 256 4096
// knob MIN_PARALLEL = 4096 1024 32768
// order: 30
#include <algorithm>
#include <cmath>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

// All arithmetic wraps, so it is done on unsigned numbers.
static inline int64_t hash(uint64_t key, uint64_t salt) {
    constexpr uint64_t kMultiplier = 0x9ddfea08eb382d69u;
    key = ~key + (key << 21);
    key ^= key >> 24;
    key = key + (key << 3) + (key << 8);
    key ^= key >> 14;
    key = key + (key << 2) + (key << 4);
    key ^= key >> 28;
    key += key << 31;
    uint64_t a = (key ^ salt) * kMultiplier;
    a ^= a >> 47;
    uint64_t b = (salt ^ a) * kMultiplier;
    b ^= b >> 47;
    return static_cast<int64_t>(b * kMultiplier);
}

// Three roundings put the quotient q off by less than |q| 2^-51. Below |q| = 2^50 the nearest integer leaves a rest
// between -divisor and divisor; above, for divisors up to 2^13, that rest is reduced once more. `divisor` is not 1.
template <bool kTwice>
static void do_chunk(const int64_t* ids, uint64_t salt, int64_t divisor, int64_t* out, int64_t n) {
    const double reciprocal = 1.0 / static_cast<double>(divisor);
    for (int64_t i = 0; i < n; ++i) {
        int64_t rest = hash(static_cast<uint64_t>(ids[i]), salt);
        for (int round = 0; round < (kTwice ? 2 : 1); ++round) {
            const auto quotient = static_cast<int64_t>(std::rint(static_cast<double>(rest) * reciprocal));
            rest = static_cast<int64_t>(static_cast<uint64_t>(rest) -
                                        static_cast<uint64_t>(quotient) * static_cast<uint64_t>(divisor));
        }
        out[i] = rest < 0 ? rest + divisor : rest;
    }
}

extern "C" int sigrid_hash(const int64_t* ids, int64_t salt, int64_t max_value, int64_t* out, int64_t N) {
    if (max_value == 1) {
        std::fill_n(out, N, int64_t{0});
        return 0;
    }
    const auto seed = static_cast<uint64_t>(salt);
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < N; i += CHUNK) {
        const int64_t n = std::min<int64_t>(CHUNK, N - i);
        if (max_value <= 8192) do_chunk<true>(ids + i, seed, max_value, out + i, n);
        else do_chunk<false>(ids + i, seed, max_value, out + i, n);
    }
    return 0;
}
