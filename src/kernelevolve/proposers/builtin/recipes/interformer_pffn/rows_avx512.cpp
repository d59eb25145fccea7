// recipe: rows_avx512
// family: interformer_pffn
// summary: row blocks through both layers with AVX-512 register tiles; GELU by one exp of the log normal tail
// isa: avx512f avx512dq
// dtype: float32
// knob MR = 8 6 12 4
// knob NV = 2 4 3
// knob ROWS = 48 24 96 192
// knob PACK = 1 0
// order: 30
//
// MR, NV: rows and vectors of the register tile. ROWS: rows that go through both layers together.
// PACK: copy the weights of a sample into contiguous column panels, or read them where they are.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
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

// Long sums are taken in pieces of CHAIN terms, which rounds less than one long chain.
static constexpr int64_t CHAIN = 256;

// R rows x V vectors: to[r][.] = bias[.] + sum_s a[r][s] * w[s][.]; a null bias adds to what is there.
// The last vector covers `last` lanes.
template <int R, int V>
static void tile(const float* a, int64_t lda, const float* w, int64_t ldw, const float* bias, float* to, int64_t ldt,
                 int64_t steps, __mmask16 last) {
    __m512 acc[R][V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        const __m512 start = bias ? _mm512_maskz_loadu_ps(v == V - 1 ? last : (__mmask16)0xffff, bias + v * 16)
                                  : _mm512_setzero_ps();
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) acc[r][v] = start;
    }
    for (int64_t s = 0; s < steps; ++s) {
        __m512 u[V];
#pragma GCC unroll 4
        for (int v = 0; v < V - 1; ++v) u[v] = _mm512_loadu_ps(w + s * ldw + v * 16);
        u[V - 1] = _mm512_maskz_loadu_ps(last, w + s * ldw + (V - 1) * 16);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const __m512 g = _mm512_set1_ps(a[r * lda + s]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(g, u[v], acc[r][v]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const __mmask16 lanes = v == V - 1 ? last : (__mmask16)0xffff;
            float* o = to + r * ldt + v * 16;
            if (!bias) acc[r][v] = _mm512_add_ps(acc[r][v], _mm512_maskz_loadu_ps(lanes, o));
            _mm512_mask_storeu_ps(o, lanes, acc[r][v]);
        }
    }
}

template <int R, int V>
static inline void rows(int64_t left, const float* a, int64_t lda, const float* w, int64_t ldw, const float* bias,
                        float* to, int64_t ldt, int64_t steps, __mmask16 last) {
    if constexpr (R > 1)
        if (left < R) return rows<R - 1, V>(left, a, lda, w, ldw, bias, to, ldt, steps, last);
    tile<R, V>(a, lda, w, ldw, bias, to, ldt, steps, last);
}

template <int V>
static void panel(int64_t vectors, const float* a, int64_t lda, int64_t count, const float* w, int64_t ldw,
                  const float* bias, float* to, int64_t ldt, int64_t steps, __mmask16 last) {
    if constexpr (V > 1)
        if (vectors < V) return panel<V - 1>(vectors, a, lda, count, w, ldw, bias, to, ldt, steps, last);
    for (int64_t r = 0; r < count; r += MR)
        rows<MR, V>(count - r, a + r * lda, lda, w, ldw, bias, to + r * ldt, ldt, steps, last);
}

// One layer: weights [steps, width], cut evenly into panels of at most NV vectors (10 vectors go as 4 3 3).
struct Layer {
    int64_t steps, width, vectors, panels;
    Buffer packed;
    const float *w = nullptr, *bias = nullptr;

    Layer(int64_t steps_, int64_t width_)
        : steps(steps_), width(width_), vectors((width_ + 15) / 16), panels((vectors + NV - 1) / NV),
          packed(make_buffer(PACK ? steps_ * vectors * 16 : 0)) {}

    int64_t start(int64_t p) const { return p * vectors / panels; }

    void load(const float* weights, const float* b) {
        w = weights, bias = b;
        if (!PACK) return;
        for (int64_t p = 0; p < panels; ++p) {
            const int64_t v0 = start(p), n = start(p + 1) - v0;
            float* to = packed.get() + v0 * 16 * steps;
            for (int64_t s = 0; s < steps; ++s)
                for (int64_t v = 0; v < n; ++v, to += 16)
                    _mm512_store_ps(to, _mm512_maskz_loadu_ps(first_lanes(width - (v0 + v) * 16),
                                                              w + s * width + (v0 + v) * 16));
        }
    }

    void apply(const float* a, int64_t lda, int64_t count, float* to, int64_t ldt) const {
        for (int64_t p = 0; p < panels; ++p) {
            const int64_t v0 = start(p), v1 = start(p + 1);
            const int64_t ldw = PACK ? (v1 - v0) * 16 : width;
            const float* from = PACK ? packed.get() + v0 * 16 * steps : w + v0 * 16;
            for (int64_t s = 0; s == 0 || s < steps; s += CHAIN)
                panel<NV>(v1 - v0, a + s, lda, count, from + s * ldw, ldw, s == 0 ? bias + v0 * 16 : nullptr,
                          to + v0 * 16, ldt, std::min(CHAIN, steps - s), first_lanes(width - (v1 - 1) * 16));
        }
    }
};

// row *= gain / rms(row), after `map` was applied to every element
template <class Map>
static inline void norm(float* row, const float* gain, int64_t width, Map map) {
    __m512 sum = _mm512_setzero_ps();
    for (int64_t c = 0; c < width; c += 16) {
        const __mmask16 lanes = first_lanes(width - c);
        const __m512 y = map(_mm512_maskz_loadu_ps(lanes, row + c));
        _mm512_mask_storeu_ps(row + c, lanes, y);
        sum = _mm512_mask3_fmadd_ps(y, y, sum, lanes);
    }
    const __m512 scale = _mm512_set1_ps(1.f / std::sqrt(_mm512_reduce_add_ps(sum) / (float)width + 1e-6f));
    for (int64_t c = 0; c < width; c += 16) {
        const __mmask16 lanes = first_lanes(width - c);
        const __m512 y = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, row + c), scale);
        _mm512_mask_storeu_ps(row + c, lanes, _mm512_mul_ps(y, _mm512_maskz_loadu_ps(lanes, gain + c)));
    }
}

extern "C" int interformer_pffn(const float* x, const float* w1, const float* b1, const float* g1, const float* w2,
                                const float* b2, const float* g2, float* out, int64_t B, int64_t N, int64_t D,
                                int64_t K) {
    const int64_t parts = (N + ROWS - 1) / ROWS, ldh = (K + 15) & ~int64_t(15);
#pragma omp parallel num_threads(KE_THREADS)
    {
        Layer first(D, K), second(K, D);
        Buffer hidden = make_buffer(ROWS * ldh);
        int64_t have = -1;
#pragma omp for schedule(static)
        for (int64_t task = 0; task < B * parts; ++task) {
            // Blocks of a sample differ by at most one row: no short block that runs at half speed.
            const int64_t b = task / parts, part = task % parts, n0 = part * N / parts;
            const int64_t count = (part + 1) * N / parts - n0;
            if (b != have) first.load(w1 + b * D * K, b1 + b * K), second.load(w2 + b * K * D, b2 + b * D), have = b;
            float* o = out + (b * N + n0) * D;
            first.apply(x + (b * N + n0) * D, D, count, hidden.get(), ldh);
            for (int64_t r = 0; r < count; ++r) norm(hidden.get() + r * ldh, g1, K, [](__m512 y) { return gelu(y); });
            second.apply(hidden.get(), ldh, count, o, D);
            for (int64_t r = 0; r < count; ++r) norm(o + r * D, g2, D, [](__m512 y) { return y; });
        }
    }
    return 0;
}
