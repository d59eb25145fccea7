// recipe: epilogue_avx512
// family: interformer_pffn
// summary: GELU, sums of squares and the first norm are applied while the products are still in registers
// isa: avx512f avx512dq
// dtype: float32
// knob MR = 8 6 12 4
// knob NV = 2 4 3
// knob ROWS = 48 24 96 192
// knob AHEAD = 0 1
// order: 40
//
// g1 is multiplied into the packed second weights and 1/rms(h) scales the second product as it leaves the registers,
// so the hidden values are written once and read once.
// MR, NV: rows and vectors of the register tile. ROWS: rows that go through both layers together.
// AHEAD: prefetch the rows of x that the next tile will read.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

struct Free {
    void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float[], Free>;
static Buffer make_buffer(int64_t n) { return Buffer((float*)std::aligned_alloc(64, (n * 4 + 127) & ~int64_t(63))); }

static inline __mmask16 first_lanes(int64_t n) { return n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1); }

static inline __m512 horner(__m512, __m512 acc) { return acc; }
template <class... Rest>
static inline __m512 horner(__m512 x, __m512 acc, float next, Rest... rest) {
    return horner(x, _mm512_fmadd_ps(acc, x, _mm512_set1_ps(next)), rest...);
}

// x * Phi(x). The upper tail 1 - Phi(t), t = |x| <= 6, is 2^p(t); beyond 6 it is below what x can notice.
static inline __m512 gelu(__m512 x) {
    const __m512 t = _mm512_abs_ps(x), six = _mm512_set1_ps(6.f);
    const __m512 p = horner(_mm512_min_ps(six, t), _mm512_set1_ps(4.02346259e-7f), -7.95459983e-6f, 6.5435307e-5f,
                            -2.5433831e-4f, -3.91187129e-5f, 6.98759922e-3f, -0.0524675096f, -0.459212005f,
                            -1.15110531f, -0.999999981f);
    const __m512 n = _mm512_roundscale_ps(p, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), f = _mm512_sub_ps(p, n);
    const __m512 e = horner(f, _mm512_set1_ps(1.54773697e-4f), 1.34016252e-3f, 9.61800033e-3f, 0.0555032437f,
                            0.240226514f, 0.693147208f, 1.f);
    const __m512 tail = _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(t, six, _CMP_NGT_UQ), e, n);
    const __m512 product = _mm512_mul_ps(x, tail);
    return _mm512_mask_sub_ps(product, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), x, product);
}

// Calls body with n as a compile-time constant, 1 <= n <= MAX (larger n count as MAX).
template <int MAX, class Body>
static inline void fixed(int64_t n, Body body) {
    if constexpr (MAX > 1)
        if (n < MAX) return fixed<MAX - 1>(n, body);
    body(std::integral_constant<int, MAX>{});
}

// Long sums are taken in pieces of CHAIN terms, which rounds less than one long chain.
static constexpr int64_t CHAIN = 256;

// Products of R rows and V vectors of packed weights; done(r, v, product) takes each away.
template <int R, int V, class Done>
static inline void tile(const float* a, int64_t lda, const float* w, int64_t steps, Done done) {
    __m512 acc[R][V];
    alignas(64) float held[R * V * 16];  // pieces summed so far; untouched where one piece is enough
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[r][v] = _mm512_setzero_ps();
    for (int64_t s = 0; s < steps; ++s) {
        if (s > 0 && s % CHAIN == 0)
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
                for (int v = 0; v < V; ++v) {
                    float* to = held + (r * V + v) * 16;
                    _mm512_store_ps(to, s > CHAIN ? _mm512_add_ps(_mm512_load_ps(to), acc[r][v]) : acc[r][v]);
                    acc[r][v] = _mm512_setzero_ps();
                }
        __m512 u[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) u[v] = _mm512_load_ps(w + (s * V + v) * 16);
        if (AHEAD && s % 16 == 0)
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) _mm_prefetch((const char*)(a + (R + r) * lda + s), _MM_HINT_T0);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const __m512 g = _mm512_set1_ps(a[r * lda + s]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(g, u[v], acc[r][v]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            if (steps > CHAIN) acc[r][v] = _mm512_add_ps(acc[r][v], _mm512_load_ps(held + (r * V + v) * 16));
            done(r, v, acc[r][v]);
        }
}

// One layer's weights [steps, width], cut evenly into panels of at most NV vectors (10 vectors go as 4 3 3).
struct Layer {
    int64_t steps, width, vectors, panels;
    Buffer packed;

    Layer(int64_t steps_, int64_t width_)
        : steps(steps_), width(width_), vectors((width_ + 15) / 16), panels((vectors + NV - 1) / NV),
          packed(make_buffer(steps_ * vectors * 16)) {}

    int64_t start(int64_t p) const { return p * vectors / panels; }

    // Row s is multiplied by gain[s] where a gain is given.
    void load(const float* w, const float* gain) {
        float* to = packed.get();
        for (int64_t p = 0; p < panels; ++p)
            for (int64_t s = 0; s < steps; ++s)
                for (int64_t v = start(p); v < start(p + 1); ++v, to += 16) {
                    const __m512 row = _mm512_maskz_loadu_ps(first_lanes(width - v * 16), w + s * width + v * 16);
                    _mm512_store_ps(to, gain ? _mm512_mul_ps(row, _mm512_set1_ps(gain[s])) : row);
                }
    }

    // done(row, vector, product) for every row of a [count, steps] and every vector of columns
    template <class Done>
    void apply(const float* a, int64_t lda, int64_t count, Done done) const {
        for (int64_t p = 0; p < panels; ++p)
            fixed<NV>(start(p + 1) - start(p), [&](auto n) {
                const int64_t v0 = start(p);
                for (int64_t r0 = 0; r0 < count; r0 += MR)
                    fixed<MR>(count - r0, [&](auto m) {
                        tile<m, n>(a + r0 * lda, lda, packed.get() + v0 * 16 * steps, steps,
                                   [&](int r, int v, __m512 y) { done(r0 + r, v0 + v, y); });
                    });
            });
    }
};

static float inverse_rms(const float* squares, int64_t width) {
    return 1.f / std::sqrt(_mm512_reduce_add_ps(_mm512_load_ps(squares)) / (float)width + 1e-6f);
}

extern "C" int interformer_pffn(const float* x, const float* w1, const float* b1, const float* g1, const float* w2,
                                const float* b2, const float* g2, float* out, int64_t B, int64_t N, int64_t D,
                                int64_t K) {
    const int64_t parts = (N + ROWS - 1) / ROWS, ldh = (K + 15) & ~int64_t(15);
#pragma omp parallel num_threads(KE_THREADS)
    {
        Layer first(D, K), second(K, D);
        Buffer hidden = make_buffer(ROWS * ldh), squares = make_buffer(ROWS * 16);
        float scale[ROWS];
        const auto add_squares = [&](int64_t r, __m512 y) {
            float* to = squares.get() + r * 16;
            _mm512_store_ps(to, _mm512_fmadd_ps(y, y, _mm512_load_ps(to)));
        };
        int64_t have = -1;
#pragma omp for schedule(static)
        for (int64_t task = 0; task < B * parts; ++task) {
            // Blocks of a sample differ by at most one row: no short block that runs at half speed.
            const int64_t b = task / parts, part = task % parts, n0 = part * N / parts;
            const int64_t count = (part + 1) * N / parts - n0;
            if (b != have) first.load(w1 + b * D * K, nullptr), second.load(w2 + b * K * D, g1), have = b;
            const float *bias1 = b1 + b * K, *bias2 = b2 + b * D;
            float* o = out + (b * N + n0) * D;

            std::fill_n(squares.get(), count * 16, 0.f);
            first.apply(x + (b * N + n0) * D, D, count, [&](int64_t r, int64_t v, __m512 y) {
                const __mmask16 lanes = first_lanes(K - v * 16);  // past the end: gelu(0 + 0) = 0
                y = gelu(_mm512_add_ps(y, _mm512_maskz_loadu_ps(lanes, bias1 + v * 16)));
                _mm512_store_ps(hidden.get() + r * ldh + v * 16, y);
                add_squares(r, y);
            });
            for (int64_t r = 0; r < count; ++r) scale[r] = inverse_rms(squares.get() + r * 16, K);

            std::fill_n(squares.get(), count * 16, 0.f);
            second.apply(hidden.get(), ldh, count, [&](int64_t r, int64_t v, __m512 y) {
                const __mmask16 lanes = first_lanes(D - v * 16);
                y = _mm512_fmadd_ps(y, _mm512_set1_ps(scale[r]), _mm512_maskz_loadu_ps(lanes, bias2 + v * 16));
                _mm512_mask_storeu_ps(o + r * D + v * 16, lanes, y);
                add_squares(r, y);
            });
            for (int64_t r = 0; r < count; ++r) {
                const __m512 s = _mm512_set1_ps(inverse_rms(squares.get() + r * 16, D));
                for (int64_t c = 0; c < D; c += 16) {
                    const __mmask16 lanes = first_lanes(D - c);
                    const __m512 y = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, o + r * D + c), s);
                    _mm512_mask_storeu_ps(o + r * D + c, lanes, _mm512_mul_ps(y, _mm512_maskz_loadu_ps(lanes, g2 + c)));
                }
            }
        }
    }
    return 0;
}
