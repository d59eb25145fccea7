// recipe: interleaved_search
// family: bucketize
// summary: branch-free binary searches of LANES values in lock step, so that their loads overlap
// knob LANES = 16 4 8 32
// knob MIN_PARALLEL = 8192 2048 65536
// order: 20
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

// The halving sequence depends on M alone: all lanes take the same steps. NaN is "not at most" any border.
static inline void search_block(const float* values, const float* borders, int32_t* out, int64_t M) {
    uint32_t at[LANES] = {};
    for (auto length = static_cast<uint32_t>(M); length > 1;) {
        const uint32_t half = length / 2;
        for (int l = 0; l < LANES; ++l) at[l] += values[l] <= borders[at[l] + half - 1] ? 0 : half;
        length -= half;
    }
    for (int l = 0; l < LANES; ++l) out[l] = static_cast<int32_t>(at[l] + !(values[l] <= borders[at[l]]));
}

extern "C" int bucketize(const float* values, const float* borders, int32_t* out, int64_t N, int64_t M) {
    if (M == 0) {
        std::fill_n(out, N, 0);
        return 0;
    }
    const int64_t n_blocks = N / LANES, done = n_blocks * LANES;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < n_blocks; ++i) search_block(values + i * LANES, borders, out + i * LANES, M);
    float last_values[LANES] = {};
    int32_t last_out[LANES];
    std::copy(values + done, values + N, last_values);
    search_block(last_values, borders, last_out, M);
    std::copy(last_out, last_out + (N - done), out + done);
    return 0;
}
