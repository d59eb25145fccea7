// recipe: row_loop
// family: jagged_pooled_embedding
// summary: row after row is added to the output
// knob MIN_PARALLEL = 256 32
// order: 10
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int jagged_pooled_embedding(const float* tables, const int64_t* indices, const int64_t* offsets, float* out,
                                       int64_t B, int64_t G, int64_t R, int64_t D, int64_t, int64_t) {
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (G * B >= MIN_PARALLEL)
    for (int64_t bag = 0; bag < G * B; ++bag) {
        const int64_t g = bag / B, b = bag % B;
        float* sum = out + (b * G + g) * D;
        std::fill_n(sum, D, 0.0f);
        for (int64_t i = offsets[bag]; i < offsets[bag + 1]; ++i) {
            if (indices[i] < 0) continue;
            const float* row = tables + (g * R + indices[i]) * D;
            for (int64_t d = 0; d < D; ++d) sum[d] += row[d];
        }
    }
    return 0;
}
