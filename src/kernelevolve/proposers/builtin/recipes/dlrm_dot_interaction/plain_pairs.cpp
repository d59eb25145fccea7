// recipe: plain_pairs
// family: dlrm_dot_interaction
// summary: one dot product per pair, written straight to its place; nothing like the full matrix is formed
// dtype: float32
// knob PAIRS = 4 1 2 8
// order: 10
//
// PAIRS: columns computed together for one row, so that the row is read once for all of them.
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int dlrm_dot_interaction(const float* dense, const float* sparse, float* out, int64_t B, int64_t F,
                                    int64_t D) {
    const int64_t width = D + F * (F + 1) / 2;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS)
    for (int64_t b = 0; b < B; ++b) {
        const float* first = dense + b * D;
        const float* others = sparse + b * F * D;
        float* o = out + b * width;
        std::copy(first, first + D, o);
        o += D;
        for (int64_t i = 0; i < F; ++i) {
            const float* p = i == 0 ? first : others + (i - 1) * D;
            int64_t j = i;  // row j of `others` is row j + 1 of the stack
            for (; j + PAIRS <= F; j += PAIRS) {
                float sum[PAIRS] = {};
                const float* q = others + j * D;
#pragma omp simd reduction(+ : sum[:PAIRS])
                for (int64_t c = 0; c < D; ++c)
                    for (int s = 0; s < PAIRS; ++s) sum[s] += p[c] * q[s * D + c];
                for (int s = 0; s < PAIRS; ++s) *o++ = sum[s];
            }
            for (; j < F; ++j) {
                float sum = 0.f;
#pragma omp simd reduction(+ : sum)
                for (int64_t c = 0; c < D; ++c) sum += p[c] * others[j * D + c];
                *o++ = sum;
            }
        }
    }
    return 0;
}
