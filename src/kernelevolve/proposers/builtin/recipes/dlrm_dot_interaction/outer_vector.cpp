// recipe: outer_vector
// family: dlrm_dot_interaction
// summary: portable: transpose the stack once, then rows x vectors of the upper triangle by outer products
// dtype: float32
// knob LANES = 16 8 4
// knob ROWS = 8 4 2
// knob NV = 2 1 3
// order: 20
//
// LANES: floats per vector (the compiler splits what the chip lacks). ROWS, NV: rows and vectors of the register tile.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

typedef float Vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
static constexpr int64_t PANEL = LANES * NV;

// Long sums are taken in pieces of CHAIN terms, which rounds less than one long chain.
static constexpr int64_t CHAIN = 256;

// Products of ROWS consecutive rows (from row i) with PANEL consecutive columns; `stack` is d x ld, transposed.
static inline void tile(const float* stack, int64_t ld, int64_t d, int64_t i, int64_t j, float (&block)[ROWS][PANEL],
                        bool add) {
    Vec acc[ROWS][NV];
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) acc[r][v] = Vec{} + 0.f;
    for (int64_t c = 0; c < d; ++c) {
        const float *left = stack + c * ld + i, *right = stack + c * ld + j;
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) acc[r][v] += left[r] * *(const Vec*)(right + v * LANES);
    }
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            Vec* to = (Vec*)(block[r] + v * LANES);
            *to = add ? *to + acc[r][v] : acc[r][v];
        }
}

extern "C" int dlrm_dot_interaction(const float* dense, const float* sparse, float* out, int64_t B, int64_t F,
                                    int64_t D) {
    const int64_t n = F + 1, width = D + F * n / 2, ld = n + std::max<int64_t>(ROWS, PANEL);
#pragma omp parallel num_threads(KE_THREADS)
    {
        std::vector<float> stack(D * ld + 1);  // columns past n stay zero
        float block[ROWS][PANEL];
#pragma omp for schedule(static)
        for (int64_t b = 0; b < B; ++b) {
            for (int64_t c = 0; c < D; ++c) stack[c * ld] = out[b * width + c] = dense[b * D + c];
            for (int64_t i = 0; i < F; ++i)
                for (int64_t c = 0; c < D; ++c) stack[c * ld + i + 1] = sparse[(b * F + i) * D + c];
            float* pairs = out + b * width + D;
            for (int64_t i = 0; i < F; i += ROWS)
                for (int64_t j = i + 1; j < n; j += PANEL) {
                    for (int64_t c = 0; c == 0 || c < D; c += CHAIN)
                        tile(stack.data() + c * ld, ld, std::min(CHAIN, D - c), i, j, block, c > 0);
                    for (int64_t row = i; row < std::min<int64_t>(i + ROWS, F); ++row) {
                        const int64_t from = std::max(j, row + 1), to = std::min(j + PANEL, n);
                        const int64_t start = row * (2 * n - row - 1) / 2 - row - 1;
                        if (from < to)
                            std::memcpy(pairs + start + from, block[row - i] + from - j, (to - from) * sizeof(float));
                    }
                }
        }
    }
    return 0;
}
