// recipe: row_loop
// family: jagged_to_padded_dense
// summary: one position after the other, each taken from the values or from the padding
// knob MIN_PARALLEL = 65536 8192
// order: 10
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int jagged_to_padded_dense(const float* values, const int64_t* offsets, double padding, float* out,
                                      int64_t B, int64_t L, int64_t D, int64_t) {
    const auto pad = static_cast<float>(padding);
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (B * L * D >= MIN_PARALLEL)
    for (int64_t b = 0; b < B; ++b)
        for (int64_t l = 0; l < L; ++l) {
            const bool real = l < offsets[b + 1] - offsets[b];
            for (int64_t d = 0; d < D; ++d)
                out[(b * L + l) * D + d] = real ? values[(offsets[b] + l) * D + d] : pad;
        }
    return 0;
}
