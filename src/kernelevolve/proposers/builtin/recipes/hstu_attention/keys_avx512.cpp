// recipe: keys_avx512
// family: hstu_attention
// summary: keys in the lanes: K^T and V of a head packed into panels, query rows in register tiles, causal part only
// isa: avx512f avx512dq
// dtype: float32
// knob MR = 6 8 12 4
// knob NV = 4 3 2
// knob ROWS = 4 1 2 8
// knob PARTS = 1 2 4
// knob RECIPROCAL = 1 0
// order: 40
//
// MR, NV: query rows and vectors of the register tiles (NV * 16 keys per step). ROWS: row tiles that share a step's
// panel. PARTS: tasks a head's queries are cut into. RECIPROCAL: 1 refines an approximate reciprocal, 0 divides.
#include <immintrin.h>

#include <algorithm>
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

static constexpr int64_t WIDTH = NV * 16;  // keys per panel, and columns of V per panel

static inline __m512 horner(__m512, __m512 acc) { return acc; }
template <class... Rest>
static inline __m512 horner(__m512 x, __m512 acc, float next, Rest... rest) {
    return horner(x, _mm512_fmadd_ps(acc, x, _mm512_set1_ps(next)), rest...);
}

// scale * a / (1 + exp(-a)); exp by splitting -a / ln 2 into a whole number and a fraction.
static inline __m512 weight(__m512 a, __m512 scale) {
    const __m512 bound = _mm512_set1_ps(80.f), log2e = _mm512_set1_ps(-1.44269502f);
    const __m512 z = _mm512_max_ps(_mm512_sub_ps(_mm512_setzero_ps(), bound), _mm512_min_ps(bound, a));
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(z, log2e), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_fmadd_ps(z, _mm512_set1_ps(-1.92596299e-8f), _mm512_fmsub_ps(z, log2e, n));
    const __m512 e = _mm512_scalef_ps(horner(f, _mm512_set1_ps(1.54773697e-4f), 1.34016252e-3f, 9.61800033e-3f,
                                             0.0555032437f, 0.240226514f, 0.693147208f, 1.f), n);
    const __m512 below = _mm512_add_ps(_mm512_set1_ps(1.f), e), above = _mm512_mul_ps(a, scale);
#if RECIPROCAL
    const __m512 r = _mm512_rcp14_ps(below);
    return _mm512_mul_ps(above, _mm512_mul_ps(r, _mm512_fnmadd_ps(below, r, _mm512_set1_ps(2.f))));
#else
    return _mm512_div_ps(above, below);
#endif
}

// Transposes 16 rows of up to 16 floats (lanes past the end read as zero): column c goes to to[c * ld].
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

// One sequence and head. Query i sees keys below min(i, history), and itself.
struct Head {
    int64_t n, history, d, ldv, stride;
    float alpha, scale;
    float *keys, *values;  // [panel of WIDTH keys][d][WIDTH]; [key][ldv], zero past the head width

    int64_t seen(int64_t i) const { return i <= history ? i + 1 : std::max<int64_t>(history, 0); }

    void pack(const float* k, const float* v, int64_t count) {
        for (int64_t j = 0; j < count; j += 16)
            for (int64_t c = 0; c < d; c += 16) {
                const float* from[16];
                for (int64_t r = 0; r < 16; ++r) from[r] = k + std::min(j + r, n - 1) * stride + c;
                float* to = keys + j / WIDTH * WIDTH * d + c * WIDTH + j % WIDTH;
                transpose16(from, first_lanes(d - c), to, WIDTH, d - c);
            }
        for (int64_t j = 0; j < count; ++j)
            for (int64_t c = 0; c < ldv; c += 16)
                _mm512_store_ps(values + j * ldv + c, _mm512_maskz_loadu_ps(first_lanes(d - c), v + j * stride + c));
    }
};

// acc[r][.] += sum_s a[r * lda + s] * b[s * ldb][.]
template <int R, int V>
static inline void multiply(__m512 (&acc)[R][V], const float* a, int64_t lda, const float* b, int64_t ldb,
                            int64_t steps) {
    for (int64_t s = 0; s < steps; ++s) {
        __m512 u[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) u[v] = _mm512_load_ps(b + s * ldb + v * 16);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const __m512 g = _mm512_set1_ps(a[r * lda + s]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(g, u[v], acc[r][v]);
        }
    }
}

// Weights of R queries (from query i) for V vectors of keys from key j: to[r][WIDTH].
template <int R, int V>
static inline void scores(const Head& t, const float* q, int64_t i, int64_t j, float* to) {
    __m512 acc[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[r][v] = _mm512_setzero_ps();
    multiply<R, V>(acc, q + i * t.stride, t.stride, t.keys + j * t.d, WIDTH, t.d);
    const __m512 alpha = _mm512_set1_ps(t.alpha), scale = _mm512_set1_ps(t.scale);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const int64_t seen = t.seen(i + r) - j;
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const __m512 w = weight(_mm512_mul_ps(acc[r][v], alpha), scale);
            _mm512_store_ps(to + r * WIDTH + v * 16, _mm512_maskz_mov_ps(first_lanes(seen - v * 16), w));
        }
    }
}

// out[r][.] = (or +=) sum over `count` keys of weights[r][key] * values[key][.] for R queries and V vectors
template <int R, int V>
static inline void mix(const float* weights, const float* values, int64_t ldv, int64_t count, float* out,
                       int64_t stride, __mmask16 last, bool add) {
    __m512 acc[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
            acc[r][v] = _mm512_setzero_ps();
    multiply<R, V>(acc, weights, WIDTH, values, ldv, count);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const __mmask16 lanes = v == V - 1 ? last : (__mmask16)0xffff;
            float* to = out + r * stride + v * 16;  // a sum of short sums rounds less than one long one
            if (add) acc[r][v] = _mm512_add_ps(acc[r][v], _mm512_maskz_loadu_ps(lanes, to));
            _mm512_mask_storeu_ps(to, lanes, acc[r][v]);
        }
}

// Calls body with the compile-time constant nearest above: f(n) for n in 1..MAX.
template <int MAX, class Body>
static inline void fixed(int64_t n, Body body) {
    if constexpr (MAX > 1)
        if (n < MAX) return fixed<MAX - 1>(n, body);
    body(std::integral_constant<int, MAX>{});
}

// One step of keys (count of them from key j) for up to MR queries from query i.
static void step(const Head& t, const float* q, float* out, int64_t i, int64_t left, int64_t j, int64_t count,
                 float* weights) {
    const int64_t vectors = t.ldv / 16, parts = (vectors + NV - 1) / NV;
    fixed<MR>(left, [&](auto r) {
        fixed<NV>((count + 15) / 16, [&](auto v) { scores<r, v>(t, q, i, j, weights); });
        for (int64_t p = 0; p < parts; ++p) {  // even groups of vectors
            const int64_t v0 = p * vectors / parts, v1 = (p + 1) * vectors / parts;
            fixed<NV>(v1 - v0, [&](auto v) {
                mix<r, v>(weights, t.values + j * t.ldv + v0 * 16, t.ldv, count, out + i * t.stride + v0 * 16, t.stride,
                          first_lanes(t.d - (v1 - 1) * 16), j > 0);
            });
        }
    });
}

// A target does not find itself among the keys of the history.
static void add_own(const Head& t, const float* q, const float* k, const float* v, float* out) {
    __m512 sum = _mm512_setzero_ps();
    for (int64_t c = 0; c < t.d; c += 16) {
        const __mmask16 lanes = first_lanes(t.d - c);
        sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(lanes, q + c), _mm512_maskz_loadu_ps(lanes, k + c), sum);
    }
    const __m512 w = weight(_mm512_set1_ps(t.alpha * _mm512_reduce_add_ps(sum)), _mm512_set1_ps(t.scale));
    for (int64_t c = 0; c < t.d; c += 16) {
        const __mmask16 lanes = first_lanes(t.d - c);
        const __m512 o = _mm512_maskz_loadu_ps(lanes, out + c);
        _mm512_mask_storeu_ps(out + c, lanes, _mm512_fmadd_ps(w, _mm512_maskz_loadu_ps(lanes, v + c), o));
    }
}

static void queries(const Head& t, const float* q, const float* k, const float* v, float* out, int64_t first,
                    int64_t end, float* weights) {
    for (int64_t i0 = first; i0 < end; i0 += MR * ROWS) {
        const int64_t i1 = std::min<int64_t>(end, i0 + MR * ROWS);
        int64_t most = 0;  // keys any query of the block sees: the last of the history sees the most
        for (int64_t i = i0; i < i1; ++i) most = std::max(most, t.seen(i));
        for (int64_t j = 0; j == 0 || j < most; j += WIDTH)
            for (int64_t i = i0; i < i1; i += MR) {
                const int64_t left = std::min<int64_t>(MR, i1 - i);
                int64_t seen = 0;
                for (int64_t r = 0; r < left; ++r) seen = std::max(seen, t.seen(i + r));
                if (j == 0 || seen > j) step(t, q, out, i, left, j, std::clamp<int64_t>(seen - j, 0, WIDTH), weights);
            }
        for (int64_t i = std::max(i0, t.history + 1); i < i1; ++i)
            add_own(t, q + i * t.stride, k + i * t.stride, v + i * t.stride, out + i * t.stride);
    }
}

extern "C" int hstu_attention(const float* q, const float* k, const float* v, const int64_t* offsets,
                              const int64_t* num_targets, double alpha, float* out, int64_t B, int64_t H, int64_t D,
                              int64_t L, int64_t T) {
    const int64_t ldv = (D + 15) & ~int64_t(15), stride = H * D;
    int64_t longest = 0;
    for (int64_t b = 0; b < B; ++b) longest = std::max(longest, offsets[b + 1] - offsets[b]);
    (void)T;
#pragma omp parallel num_threads(KE_THREADS)
    {
        const int64_t room = (longest + WIDTH - 1) / WIDTH * WIDTH;
        Buffer keys = make_buffer(room * D), values = make_buffer(room * ldv), weights = make_buffer(MR * WIDTH);
#pragma omp for schedule(dynamic, 1)
        for (int64_t task = 0; task < B * H * PARTS; ++task) {
            const int64_t b = task / (H * PARTS), n = offsets[b + 1] - offsets[b], part = task % PARTS;
            const int64_t base = offsets[b] * stride + task / PARTS % H * D;
            const int64_t first = part * n / PARTS, end = (part + 1) * n / PARTS;
            if (first == end) continue;
            Head head{n, std::max<int64_t>(-1, n - num_targets[b]), D, ldv, stride, (float)alpha, 1.f / (float)L,
                      keys.get(), values.get()};
            head.pack(k + base, v + base, std::min(end, std::max<int64_t>(head.history + 1, 1)));
            queries(head, q + base, k + base, v + base, out + base, first, end, weights.get());
        }
    }
    return 0;
}
