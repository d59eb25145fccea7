// recipe: scalar_search
// family: merge_bucketized_dense
// summary: one std::lower_bound per value
// knob MIN_PARALLEL = 16384 2048 131072
// order: 10
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int merge_bucketized_dense(const float* x, const float* borders, const int64_t* border_offsets, int64_t* out,
                                      int64_t F, int64_t N, int64_t) {
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (F * N >= MIN_PARALLEL)
    for (int64_t f = 0; f < F; ++f) {
        const float* first = borders + border_offsets[f];
        const float* last = borders + border_offsets[f + 1];
        for (int64_t n = 0; n < N; ++n) {
            const float value = x[f * N + n];
            // NaN belongs above every border: "not at most" instead of "above"
            const float* hit = std::partition_point(first, last, [value](float border) { return !(value <= border); });
            out[f * N + n] = hit - first + border_offsets[f] + f;
        }
    }
    return 0;
}
