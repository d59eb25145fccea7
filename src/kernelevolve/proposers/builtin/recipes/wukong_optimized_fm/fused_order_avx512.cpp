// recipe: fused_order_avx512
// family: wukong_optimized_fm
// summary: original order x (x^T y), blocked over K so that a D x KB slice of the intermediate stays in cache
// isa: avx512f
// dtype: float32
// knob MR = 6 4 8
// knob NV = 4 2 3
// knob BLOCKS = 1 2 4
// order: 30
//
// MR, NV: rows and 16-wide vectors of the register tile. BLOCKS: register tiles per slice of K (KB = 16*NV*BLOCKS).
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

struct Free {
    void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float[], Free>;
static Buffer make_buffer(int64_t n) { return Buffer((float*)std::aligned_alloc(64, (n * 4 + 127) & ~int64_t(63))); }

static inline __mmask16 first_lanes(int64_t n) { return n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1); }

// Long sums are taken in pieces of CHAIN terms, which rounds less than one long chain.
static constexpr int64_t CHAIN = 256;

// c[r][.] = (or +=) sum_s a[r * a_row + s * a_step] * b[s][.] for R rows and V vectors; the last
// vector covers `last` lanes.
template <int R, int V>
static void tile(const float* a, int64_t a_row, int64_t a_step, const float* b, int64_t ldb, float* c, int64_t ldc,
                 int64_t steps, __mmask16 last, bool add) {
    __m512 acc[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) acc[r][v] = _mm512_setzero_ps();
    for (int64_t s = 0; s < steps; ++s) {
        const float *row = b + s * ldb, *column = a + s * a_step;
        __m512 u[V];
#pragma GCC unroll 8
        for (int v = 0; v < V - 1; ++v) u[v] = _mm512_loadu_ps(row + v * 16);
        u[V - 1] = _mm512_maskz_loadu_ps(last, row + (V - 1) * 16);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const __m512 g = _mm512_set1_ps(column[r * a_row]);
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(g, u[v], acc[r][v]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) {
            const __mmask16 lanes = v == V - 1 ? last : (__mmask16)0xffff;
            float* to = c + r * ldc + v * 16;
            if (add) acc[r][v] = _mm512_add_ps(acc[r][v], _mm512_maskz_loadu_ps(lanes, to));
            _mm512_mask_storeu_ps(to, lanes, acc[r][v]);
        }
    }
}

template <int R, int V>
static inline void rows(int64_t left, const float* a, int64_t a_row, int64_t a_step, const float* b, int64_t ldb,
                        float* c, int64_t ldc, int64_t steps, __mmask16 last, bool add) {
    if constexpr (R > 1)
        if (left < R) return rows<R - 1, V>(left, a, a_row, a_step, b, ldb, c, ldc, steps, last, add);
    tile<R, V>(a, a_row, a_step, b, ldb, c, ldc, steps, last, add);
}

// c[m x width] = a[m x steps] b[steps x width]
static void multiply(const float* a, int64_t a_row, int64_t a_step, const float* b, int64_t ldb, float* c, int64_t ldc,
                     int64_t m, int64_t width, int64_t steps) {
    for (int64_t s = 0; s == 0 || s < steps; s += CHAIN) {
        const int64_t count = std::min(CHAIN, steps - s);
        int64_t j = 0;
        for (; j + NV * 16 <= width; j += NV * 16)
            for (int64_t i = 0; i < m; i += MR)
                rows<MR, NV>(m - i, a + i * a_row + s * a_step, a_row, a_step, b + s * ldb + j, ldb, c + i * ldc + j,
                             ldc, count, 0xffff, s > 0);
        for (; j < width; j += 16)
            for (int64_t i = 0; i < m; i += MR)
                rows<MR, 1>(m - i, a + i * a_row + s * a_step, a_row, a_step, b + s * ldb + j, ldb, c + i * ldc + j,
                            ldc, count, first_lanes(width - j), s > 0);
    }
}

extern "C" int wukong_optimized_fm(const float* x, const float* y, float* out, int64_t B, int64_t N, int64_t D,
                                   int64_t K) {
    constexpr int64_t KB = 16 * NV * BLOCKS;
    const int64_t parts = (K + KB - 1) / KB;
#pragma omp parallel num_threads(KE_THREADS)
    {
        Buffer middle = make_buffer(D * KB);
#pragma omp for schedule(static)
        for (int64_t task = 0; task < B * parts; ++task) {
            const int64_t b = task / parts, c = task % parts * KB, width = std::min<int64_t>(KB, K - c);
            const float* xb = x + b * N * D;
            multiply(xb, 1, D, y + b * N * K + c, K, middle.get(), KB, D, width, N);
            multiply(xb, D, 1, middle.get(), KB, out + b * N * K + c, K, N, width, D);
        }
    }
    return 0;
}
