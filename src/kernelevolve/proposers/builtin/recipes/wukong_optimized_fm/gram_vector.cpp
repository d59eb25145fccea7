// recipe: gram_vector
// family: wukong_optimized_fm
// summary: (x x^T) y with portable vector types: both products run in one register-blocked tile on packed panels
// dtype: float32
// knob LANES = 16 8
// knob MR = 6 4 2
// knob NV = 4 2 3
// order: 20
//
// LANES: floats per vector (the compiler splits what the chip lacks). MR, NV: rows and vectors of the register tile.
#include <algorithm>
#include <cstdint>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

typedef float Vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
static constexpr int64_t PANEL = LANES * NV;

// Long sums are taken in pieces of CHAIN terms, which rounds less than one long chain.
static constexpr int64_t CHAIN = 256;

// c[r][.] = (or +=) sum_s a[r * a_row + s * a_step] * panel[s][.]; panel rows are PANEL floats and
// `width` columns are stored.
template <int R>
static void tile(const float* a, int64_t a_row, int64_t a_step, const float* panel, float* c, int64_t ldc,
                 int64_t steps, int64_t width, bool add) {
    Vec acc[R][NV];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) acc[r][v] = Vec{} + 0.f;
    for (int64_t s = 0; s < steps; ++s) {
        const float *row = panel + s * PANEL, *column = a + s * a_step;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const float g = column[r * a_row];
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) acc[r][v] += g * *(const Vec*)(row + v * LANES);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
        if (width == PANEL) {
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) {
                Vec* to = (Vec*)(c + r * ldc + v * LANES);
                *to = add ? *to + acc[r][v] : acc[r][v];
            }
        } else {
            float copy[PANEL];  // not acc itself: an array whose address escapes would leave the registers
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) *(Vec*)(copy + v * LANES) = acc[r][v];
            for (int64_t j = 0; j < width; ++j) c[r * ldc + j] = add ? c[r * ldc + j] + copy[j] : copy[j];
        }
}

template <int R>
static inline void rows(int64_t left, const float* a, int64_t a_row, int64_t a_step, const float* panel, float* c,
                        int64_t ldc, int64_t steps, int64_t width, bool add) {
    if constexpr (R > 1)
        if (left < R) return rows<R - 1>(left, a, a_row, a_step, panel, c, ldc, steps, width, add);
    tile<R>(a, a_row, a_step, panel, c, ldc, steps, width, add);
}

// c [m, width] = a [m, steps] times the panel
static void multiply(int64_t m, const float* a, int64_t a_row, int64_t a_step, const float* panel, float* c,
                     int64_t ldc, int64_t steps, int64_t width) {
    for (int64_t s = 0; s == 0 || s < steps; s += CHAIN)
        for (int64_t i = 0; i < m; i += MR)
            rows<MR>(m - i, a + i * a_row + s * a_step, a_row, a_step, panel + s * PANEL, c + i * ldc, ldc,
                     std::min(CHAIN, steps - s), width, s > 0);
}

// panel[s][j] = source[s * s_stride + j * j_stride], zero past `width`
static void pack(const float* source, int64_t s_stride, int64_t j_stride, int64_t steps, int64_t width, float* panel) {
    for (int64_t s = 0; s < steps; ++s) {
        for (int64_t j = 0; j < width; ++j) panel[s * PANEL + j] = source[s * s_stride + j * j_stride];
        for (int64_t j = width; j < PANEL; ++j) panel[s * PANEL + j] = 0.f;
    }
}

extern "C" int wukong_optimized_fm(const float* x, const float* y, float* out, int64_t B, int64_t N, int64_t D,
                                   int64_t K) {
#pragma omp parallel num_threads(KE_THREADS)
    {
        std::vector<float> gram(N * N), panel(std::max(N, D) * PANEL);
#pragma omp for schedule(static)
        for (int64_t b = 0; b < B; ++b) {
            const float* xb = x + b * N * D;
            for (int64_t c = 0; c < N; c += PANEL) {
                const int64_t width = std::min(PANEL, N - c);
                pack(xb + c * D, 1, D, D, width, panel.data());
                multiply(N, xb, D, 1, panel.data(), gram.data() + c, N, D, width);
            }
            for (int64_t c = 0; c < K; c += PANEL) {
                const int64_t width = std::min(PANEL, K - c);
                pack(y + b * N * K + c, K, 1, N, width, panel.data());
                multiply(N, gram.data(), 1, N, panel.data(), out + b * N * K + c, K, N, width);
            }
        }
    }
    return 0;
}
