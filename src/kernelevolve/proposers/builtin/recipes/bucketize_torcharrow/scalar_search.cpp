// recipe: scalar_search
// family: bucketize_torcharrow
// summary: one std::lower_bound per value, then a look at the next border
// knob MIN_PARALLEL = 8192 2048 65536
// order: 10
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int bucketize_torcharrow(const float* values, const float* borders, int32_t* out, int64_t N, int64_t M) {
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < N; ++i) {
        const int64_t bucket = std::lower_bound(borders, borders + M, values[i]) - borders;  // NaN: 0
        const bool between_twins = bucket + 1 < M && !(values[i] < borders[bucket + 1]);
        out[i] = static_cast<int32_t>(bucket + between_twins);
    }
    return 0;
}
