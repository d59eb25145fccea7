// recipe: gram_avx512
// family: wukong_optimized_fm
// summary: (x x^T) y: Gram matrix by 4x4 dot-product blocks, then out = gram y in an MR x NV register tile
// isa: avx512f avx512dq avx512vl
// dtype: float32
// knob MR = 6 4 8 12
// knob NV = 4 2 3 1
// knob SPLIT = 1024 256 4096
// knob AHEAD = 1 0
// knob STREAM = 0 1
// order: 40
//
// MR, NV: rows and 16-wide vectors of the register tile. SPLIT: columns of y per parallel task.
// AHEAD: prefetch the next column block of y while the present one is multiplied. STREAM: non-temporal stores.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

static inline __mmask16 first_lanes(int64_t n) { return n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1); }

// Lane i of the result is the sum of the lanes of v[i].
static inline __m512 sum_each(const __m512 (&v)[16]) {
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

// gram[i * ld + j] = <x_i, x_j>, both triangles. Rows past the end repeat the last one and are not stored.
static void gram_matrix(const float* x, int64_t n, int64_t d, float* gram, int64_t ld) {
    const int64_t whole = d & ~int64_t(15);
    const __mmask16 rest = first_lanes(d - whole);
    for (int64_t i = 0; i < n; i += 4)
        for (int64_t j = i; j < n; j += 4) {
            const float *p[4], *q[4];
            for (int r = 0; r < 4; ++r) {
                p[r] = x + std::min<int64_t>(i + r, n - 1) * d;
                q[r] = x + std::min<int64_t>(j + r, n - 1) * d;
            }
            __m512 sum[16];
#pragma GCC unroll 16
            for (int s = 0; s < 16; ++s) sum[s] = _mm512_setzero_ps();
            for (int64_t c = 0; c < d; c += 16) {
                const __mmask16 lanes = c < whole ? (__mmask16)0xffff : rest;
                __m512 u[4];
#pragma GCC unroll 4
                for (int r = 0; r < 4; ++r) u[r] = _mm512_maskz_loadu_ps(lanes, q[r] + c);
#pragma GCC unroll 4
                for (int r = 0; r < 4; ++r) {
                    const __m512 t = _mm512_maskz_loadu_ps(lanes, p[r] + c);
#pragma GCC unroll 4
                    for (int s = 0; s < 4; ++s) sum[4 * r + s] = _mm512_fmadd_ps(t, u[s], sum[4 * r + s]);
                }
            }
            alignas(64) float block[16];
            _mm512_store_ps(block, sum_each(sum));
            for (int r = 0; r < 4 && i + r < n; ++r)
                for (int s = 0; s < 4 && j + s < n; ++s)
                    gram[(i + r) * ld + j + s] = gram[(j + s) * ld + i + r] = block[4 * r + s];
        }
}

// R rows x V vectors of out; the last vector covers only `last` lanes.
template <int R, int V>
static void tile(const float* gram, int64_t ld, const float* y, float* out, int64_t n, int64_t k, __mmask16 last,
                 bool ahead) {
    __m512 acc[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) acc[r][v] = _mm512_setzero_ps();
    for (int64_t j = 0; j < n; ++j) {
        const float* row = y + j * k;
        if (ahead)
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v) _mm_prefetch((const char*)(row + (V + v) * 16), _MM_HINT_T0);
        __m512 u[V];
#pragma GCC unroll 8
        for (int v = 0; v < V - 1; ++v) u[v] = _mm512_loadu_ps(row + v * 16);
        u[V - 1] = _mm512_maskz_loadu_ps(last, row + (V - 1) * 16);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const __m512 g = _mm512_set1_ps(gram[j * ld + r]);  // symmetric: a row serves as a column
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(g, u[v], acc[r][v]);
        }
    }
    const bool aligned = STREAM && last == 0xffff && k % 16 == 0 && ((uintptr_t)out & 63) == 0;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        float* o = out + r * k;
        if (aligned) {
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v) _mm512_stream_ps(o + v * 16, acc[r][v]);
        } else {
#pragma GCC unroll 8
            for (int v = 0; v < V - 1; ++v) _mm512_storeu_ps(o + v * 16, acc[r][v]);
            _mm512_mask_storeu_ps(o + (V - 1) * 16, last, acc[r][V - 1]);
        }
    }
}

// Picks the tile for the rows that are left (R counts down from MR).
template <int R, int V>
static inline void rows(int64_t left, const float* gram, int64_t ld, const float* y, float* out, int64_t n, int64_t k,
                        __mmask16 last, bool ahead) {
    if constexpr (R > 1)
        if (left < R) return rows<R - 1, V>(left, gram, ld, y, out, n, k, last, ahead);
    tile<R, V>(gram, ld, y, out, n, k, last, ahead);
}

template <int V>
static void columns(const float* gram, int64_t ld, const float* y, float* out, int64_t n, int64_t k, __mmask16 last,
                    bool more) {
    for (int64_t i = 0; i < n; i += MR)
        rows<MR, V>(n - i, gram + i, ld, y, out + i * k, n, k, last, AHEAD && more && i == 0);
}

extern "C" int wukong_optimized_fm(const float* x, const float* y, float* out, int64_t B, int64_t N, int64_t D,
                                   int64_t K) {
    const int64_t ld = N, parts = (K + SPLIT - 1) / SPLIT;
#pragma omp parallel num_threads(KE_THREADS)
    {
        std::vector<float> gram(N * ld);
        int64_t have = -1;
#pragma omp for schedule(static)
        for (int64_t task = 0; task < B * parts; ++task) {
            const int64_t b = task / parts, c1 = std::min<int64_t>(K, (task % parts + 1) * SPLIT);
            if (b != have) gram_matrix(x + b * N * D, N, D, gram.data(), ld), have = b;
            int64_t c = task % parts * SPLIT;
            const float* yb = y + b * N * K;
            float* ob = out + b * N * K;
            for (; c + NV * 16 <= c1; c += NV * 16)
                columns<NV>(gram.data(), ld, yb + c, ob + c, N, K, 0xffff, c + NV * 32 <= c1);
            for (; c < c1; c += 16)
                columns<1>(gram.data(), ld, yb + c, ob + c, N, K, first_lanes(c1 - c), false);
        }
        if (STREAM) _mm_sfence();
    }
    return 0;
}
