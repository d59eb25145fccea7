// recipe: dot_blocks_avx512
// family: dlrm_dot_interaction
// summary: blocks of dot products in registers over the upper triangle, one shuffle tree sums 16 at a time
// isa: avx512f avx512dq avx512vl
// dtype: float32
// knob ROWS = 2 4 6
// knob COLS = 4 8 3
// knob AHEAD = 0 1
// knob CHUNK = 0 8 64
// order: 40
//
// ROWS x COLS: pairs accumulated together. AHEAD: prefetch the next sample. CHUNK: samples per dynamic task, 0 static.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

#if CHUNK > 0
#define SCHEDULE schedule(dynamic, CHUNK)
#else
#define SCHEDULE schedule(static)
#endif

static constexpr int PAIRS = ROWS * COLS, GROUPS = (PAIRS + 15) / 16;

static inline __mmask16 first_lanes(int64_t n) { return n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1); }

// Lane i of the result is the sum of the lanes of v[i].
static inline __m512 sum_each(const __m512* v) {
    __m512 a[8], b[4], c[2];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
        a[i] = _mm512_add_ps(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]), _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const __m512d lo = _mm512_castps_pd(a[2 * i]), hi = _mm512_castps_pd(a[2 * i + 1]);
        b[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(lo, hi)),
                             _mm512_castpd_ps(_mm512_unpackhi_pd(lo, hi)));
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
        c[i] = _mm512_add_ps(_mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0x88),
                             _mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0xdd));
    return _mm512_add_ps(_mm512_shuffle_f32x4(c[0], c[1], 0x88), _mm512_shuffle_f32x4(c[0], c[1], 0xdd));
}

// result[COLS * r + s] = <p[r], q[s]>
static inline void dot_block(const float* const (&p)[ROWS], const float* const (&q)[COLS], int64_t d, float* result) {
    __m512 sum[16 * GROUPS];
#pragma GCC unroll 64
    for (int s = 0; s < 16 * GROUPS; ++s) sum[s] = _mm512_setzero_ps();
    const auto step = [&](int64_t c, auto load) {
        __m512 u[COLS];
#pragma GCC unroll 8
        for (int s = 0; s < COLS; ++s) u[s] = load(q[s] + c);
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; ++r) {
            const __m512 t = load(p[r] + c);
#pragma GCC unroll 8
            for (int s = 0; s < COLS; ++s) sum[COLS * r + s] = _mm512_fmadd_ps(t, u[s], sum[COLS * r + s]);
        }
    };
    int64_t c = 0;
    for (; c + 16 <= d; c += 16) step(c, [](const float* at) { return _mm512_loadu_ps(at); });
    if (c < d) {
        const __mmask16 lanes = first_lanes(d - c);
        step(c, [lanes](const float* at) { return _mm512_maskz_loadu_ps(lanes, at); });
    }
#pragma GCC unroll 4
    for (int g = 0; g < GROUPS; ++g) _mm512_store_ps(result + 16 * g, sum_each(sum + 16 * g));
}

static void one_sample(const float* dense, const float* sparse, float* out, int64_t n, int64_t d) {
    if (d) std::memcpy(out, dense, d * sizeof(float));
    out += d;
    alignas(64) float result[16 * GROUPS];
    // Rows past the end repeat the last one: their products are computed and dropped.
    const auto at = [&](int64_t i) {
        const int64_t row = std::min(i, n - 1);
        return row == 0 ? dense : sparse + (row - 1) * d;
    };
    for (int64_t i = 0; i < n; i += ROWS) {
        const float* p[ROWS];
        for (int r = 0; r < ROWS; ++r) p[r] = at(i + r);
        for (int64_t j = i + 1; j < n; j += COLS) {
            const float* q[COLS];
            for (int s = 0; s < COLS; ++s) q[s] = at(j + s);
            dot_block(p, q, d, result);
            for (int r = 0; r < ROWS && i + r < n; ++r) {
                const int64_t row = i + r, start = row * (2 * n - row - 1) / 2 - row - 1;  // + j = place of (row, j)
                const int64_t lo = std::max<int64_t>(0, row + 1 - j), hi = std::min<int64_t>(COLS, n - j);
                if (lo >= hi) continue;
                const __mmask8 lanes = (__mmask8)(((1u << hi) - 1) & ~((1u << lo) - 1));
                float* o = out + start + j;  // lanes below `lo` are masked off, so nothing before the row is touched
                if constexpr (COLS <= 4)
                    _mm_mask_storeu_ps(o, lanes, _mm_loadu_ps(result + COLS * r));
                else
                    _mm256_mask_storeu_ps(o, lanes, _mm256_loadu_ps(result + COLS * r));
            }
        }
    }
}

extern "C" int dlrm_dot_interaction(const float* dense, const float* sparse, float* out, int64_t B, int64_t F,
                                    int64_t D) {
    const int64_t width = D + F * (F + 1) / 2;
#pragma omp parallel for SCHEDULE num_threads(KE_THREADS)
    for (int64_t b = 0; b < B; ++b) {
        if (AHEAD && b + 1 < B)
            for (int64_t c = 0; c < F * D; c += 16)
                _mm_prefetch((const char*)(sparse + (b + 1) * F * D + c), _MM_HINT_T1);
        one_sample(dense + b * D, sparse + b * F * D, out + b * width, F + 1, D);
    }
    return 0;
}
