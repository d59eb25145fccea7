// recipe: lanes_avx512
// family: dlrm_dot_interaction
// summary: transpose 16x16 in registers, then outer products: one row against NV vectors of columns, no lane sums
// isa: avx512f avx512dq
// dtype: float32
// knob ROWS = 8 4 6 12
// knob NV = 2 1 3
// knob DEPTH = 128 32 64
// order: 30
//
// ROWS, NV: rows and vectors of the register tile. DEPTH: features transposed at a time (the panel stays near).
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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

// Transposes 16 rows of up to 16 floats: column c goes to to[c * ld].
static inline void transpose16(const float* const (&from)[16], __mmask16 lanes, float* to, int64_t ld,
                               int64_t columns) {
    __m512 a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) a[i] = _mm512_maskz_loadu_ps(lanes, from[i]);
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
            const __m512d p = _mm512_castps_pd(b[i + h]), q = _mm512_castps_pd(b[i + 2 + h]);
            a[i + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(p, q));
            a[i + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(p, q));
        }
    // a[4g + c] holds column 4m + c of rows 4g..4g+3 in its m-th quarter; now gather the quarters.
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
        const __m512 even0 = _mm512_shuffle_f32x4(a[c], a[4 + c], 0x88);
        const __m512 odd0 = _mm512_shuffle_f32x4(a[c], a[4 + c], 0xdd);
        const __m512 even1 = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0x88);
        const __m512 odd1 = _mm512_shuffle_f32x4(a[8 + c], a[12 + c], 0xdd);
        b[c] = _mm512_shuffle_f32x4(even0, even1, 0x88);
        b[4 + c] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
        b[8 + c] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
        b[12 + c] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
    }
#pragma GCC unroll 16
    for (int c = 0; c < 16; ++c)
        if (c < columns) _mm512_store_ps(to + c * ld, b[c]);
}

// R rows from row i against V vectors from column j, added to what `sums` (n x ld) holds.
template <int R, int V>
static void tile(const float* panel, int64_t ld, int64_t depth, int64_t i, int64_t j, float* sums, bool add) {
    __m512 acc[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
            acc[r][v] = _mm512_setzero_ps();
    for (int64_t c = 0; c < depth; ++c) {
        __m512 u[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) u[v] = _mm512_load_ps(panel + c * ld + j + v * 16);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const __m512 g = _mm512_set1_ps(panel[c * ld + i + r]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(g, u[v], acc[r][v]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            float* to = sums + (i + r) * ld + j + v * 16;  // a sum of DEPTH-long sums rounds less than one long one
            _mm512_store_ps(to, add ? _mm512_add_ps(_mm512_load_ps(to), acc[r][v]) : acc[r][v]);
        }
}

template <int R, int V>
static inline void rows(int64_t left, const float* panel, int64_t ld, int64_t depth, int64_t i, int64_t j, float* sums,
                        bool add) {
    if constexpr (R > 1)
        if (left < R) return rows<R - 1, V>(left, panel, ld, depth, i, j, sums, add);
    tile<R, V>(panel, ld, depth, i, j, sums, add);
}

// One sample: panel is DEPTH x ld, sums n x ld with ld = n rounded up to 16.
static void one_sample(const float* dense, const float* sparse, float* out, int64_t n, int64_t d, int64_t ld,
                       float* panel, float* sums) {
    if (d) std::memcpy(out, dense, d * sizeof(float));
    out += d;
    if (d == 0) std::memset(out, 0, n * (n - 1) / 2 * sizeof(float));
    for (int64_t c0 = 0; c0 < d; c0 += DEPTH) {
        const int64_t depth = std::min<int64_t>(DEPTH, d - c0);
        for (int64_t i = 0; i < ld; i += 16)
            for (int64_t c = 0; c < depth; c += 16) {
                const float* from[16];
                for (int64_t r = 0; r < 16; ++r) {
                    const int64_t row = std::min(i + r, n - 1);
                    from[r] = (row == 0 ? dense : sparse + (row - 1) * d) + c0 + c;
                }
                transpose16(from, first_lanes(depth - c), panel + c * ld + i, ld, depth - c);
            }
        for (int64_t i = 0; i < n; i += ROWS) {
            int64_t j = (i + 1) & ~int64_t(15);  // the vector that holds the first column right of the diagonal
            for (; j + NV * 16 <= ld; j += NV * 16) rows<ROWS, NV>(n - i, panel, ld, depth, i, j, sums, c0 > 0);
            for (; j < ld; j += 16) rows<ROWS, 1>(n - i, panel, ld, depth, i, j, sums, c0 > 0);
        }
    }
    if (d == 0) return;
    for (int64_t i = 0; i < n - 1; ++i) {
        const float* row = sums + i * ld + i + 1;
        const int64_t count = n - 1 - i;
        for (int64_t c = 0; c < count; c += 16) {
            const __mmask16 lanes = first_lanes(count - c);
            _mm512_mask_storeu_ps(out + c, lanes, _mm512_maskz_loadu_ps(lanes, row + c));
        }
        out += count;
    }
}

extern "C" int dlrm_dot_interaction(const float* dense, const float* sparse, float* out, int64_t B, int64_t F,
                                    int64_t D) {
    const int64_t n = F + 1, width = D + F * n / 2, ld = (n + 15) & ~int64_t(15);
#pragma omp parallel num_threads(KE_THREADS)
    {
        Buffer panel = make_buffer(DEPTH * ld), sums = make_buffer(n * ld);
#pragma omp for schedule(static)
        for (int64_t b = 0; b < B; ++b)
            one_sample(dense + b * D, sparse + b * F * D, out + b * width, n, D, ld, panel.get(), sums.get());
    }
    return 0;
}
