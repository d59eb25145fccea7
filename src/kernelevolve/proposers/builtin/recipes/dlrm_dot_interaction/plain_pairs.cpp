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

// to[s] = <p, q + s * d> for N rows; long sums in pieces, which rounds less than one long chain.
template <int N>
static inline void dots(const float* p, const float* q, int64_t d, float* to) {
    constexpr int64_t CHAIN = 256;
    for (int s = 0; s < N; ++s) to[s] = 0.f;
    for (int64_t c0 = 0; c0 < d; c0 += CHAIN) {
        float sum[N] = {};
        const int64_t c1 = std::min(d, c0 + CHAIN);
        for (int s = 0; s < N; ++s) {
            float part = 0.f;
#pragma omp simd reduction(+ : part)
            for (int64_t c = c0; c < c1; ++c) part += p[c] * q[s * d + c];
            sum[s] = part;
        }
        for (int s = 0; s < N; ++s) to[s] += sum[s];
    }
}

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
            for (; j + PAIRS <= F; j += PAIRS, o += PAIRS) dots<PAIRS>(p, others + j * D, D, o);
            for (; j < F; ++j) dots<1>(p, others + j * D, D, o++);
        }
    }
    return 0;
}
