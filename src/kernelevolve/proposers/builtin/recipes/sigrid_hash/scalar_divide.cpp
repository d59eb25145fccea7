// recipe: scalar_divide
// family: sigrid_hash
// summary: the definition, with one hardware division per id
// knob MIN_PARALLEL = 4096 1024 32768
// order: 10
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

extern "C" int sigrid_hash(const int64_t* ids, int64_t salt, int64_t max_value, int64_t* out, int64_t N) {
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < N; ++i) {
        const int64_t rest = hash(static_cast<uint64_t>(ids[i]), static_cast<uint64_t>(salt)) % max_value;
        out[i] = rest < 0 ? rest + max_value : rest;
    }
    return 0;
}
