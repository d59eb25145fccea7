// recipe: scalar_search
// family: bucketize
// summary: one binary search per value
// knob MIN_PARALLEL = 8192 2048 65536
// order: 10
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int bucketize(const float* values, const float* borders, int32_t* out, int64_t N, int64_t M) {
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < N; ++i) {
        const float value = values[i];
        // NaN belongs above every border: "not at most" instead of "above"
        out[i] = static_cast<int32_t>(
            std::partition_point(borders, borders + M, [value](float border) { return !(value <= border); }) - borders);
    }
    return 0;
}
