// recipe: count_blocks
// family: bucketize
// summary: no search: compare a block of values with every border and count; the loop over values vectorises
// knob BLOCK = 256 64 128 512 1024
// knob COUNT_UP_TO = 160 40 640
// knob MIN_PARALLEL = 8192 2048 65536
// order: 30
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

static void count_block(const float* values, const float* borders, int64_t M, int32_t* out, int64_t n) {
    int32_t count[BLOCK] = {};
    for (int64_t b = 0; b < M; ++b) {
        const float limit = borders[b];
        for (int64_t i = 0; i < n; ++i) count[i] += !(values[i] <= limit);  // NaN belongs above every border
    }
    for (int64_t i = 0; i < n; ++i) out[i] = count[i];
}

static void search_block(const float* values, const float* borders, int64_t M, int32_t* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const float value = values[i];
        out[i] = static_cast<int32_t>(
            std::partition_point(borders, borders + M, [value](float border) { return !(value <= border); }) - borders);
    }
}

extern "C" int bucketize(const float* values, const float* borders, int32_t* out, int64_t N, int64_t M) {
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < N; i += BLOCK) {
        const int64_t n = std::min<int64_t>(BLOCK, N - i);
        if (M <= COUNT_UP_TO) count_block(values + i, borders, M, out + i, n);
        else search_block(values + i, borders, M, out + i, n);
    }
    return 0;
}
