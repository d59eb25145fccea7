// recipe: queries_avx512
// family: hstu_attention
// summary: tiles of queries in the lanes: keys and values are broadcast or read in place, only the queries are packed
// isa: avx512f avx512dq
// dtype: float32
// knob QV = 2 4 3 1
// knob MR = 12 6 8 4
// knob KEYS = 32 64 16 128
// knob RECIPROCAL = 1 0
// order: 30
//
// QV: 16-query vectors per tile. MR: rows of the register tiles. KEYS: keys per step (their values stay near).
// RECIPROCAL: 1 refines an approximate reciprocal in the sigmoid, 0 divides.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

struct Free {
    void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float[], Free>;
static Buffer make_buffer(int64_t n) { return Buffer((float*)std::aligned_alloc(64, (n * 4 + 127) & ~int64_t(63))); }

static inline __mmask16 first_lanes(int64_t n) { return n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1); }

static constexpr int64_t QUERIES = QV * 16;
static constexpr int DV = QV == 1 ? 4 : QV;  // vectors of the head width in the second product

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

// acc[r][.] += sum_s a[r * a_row + s * a_step] * b[s * ldb][.]; the last vector covers `last` lanes.
template <int R, int V>
static inline void multiply(__m512 (&acc)[R][V], const float* a, int64_t a_row, int64_t a_step, const float* b,
                            int64_t ldb, int64_t steps, __mmask16 last) {
    for (int64_t s = 0; s < steps; ++s) {
        __m512 u[V];
#pragma GCC unroll 4
        for (int v = 0; v < V - 1; ++v) u[v] = _mm512_loadu_ps(b + s * ldb + v * 16);
        u[V - 1] = _mm512_maskz_loadu_ps(last, b + s * ldb + (V - 1) * 16);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const __m512 g = _mm512_set1_ps(a[r * a_row + s * a_step]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(g, u[v], acc[r][v]);
        }
    }
}

// What one tile of queries needs to know. Query i sees keys below min(i, history), and itself.
struct Tile {
    int64_t first, history, d, stride;
    float alpha, scale;
};

// Weights of R keys (from key j) for all queries of the tile: to[r][QUERIES].
template <int R>
static void key_rows(int64_t left, const Tile& t, const float* k, const float* packed, int64_t j, float* to) {
    if constexpr (R > 1)
        if (left < R) return key_rows<R - 1>(left, t, k, packed, j, to);
    __m512 acc[R][QV];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < QV; ++v) acc[r][v] = _mm512_setzero_ps();
    multiply<R, QV>(acc, k + j * t.stride, t.stride, 1, packed, QUERIES, t.d, 0xffff);
    const __m512 alpha = _mm512_set1_ps(t.alpha), scale = _mm512_set1_ps(t.scale);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const int64_t key = j + r, own = key - t.first;  // lanes from `from` on see the key, and so does lane `own`
        const int64_t from = key < t.history ? own + 1 : QUERIES;
#pragma GCC unroll 4
        for (int v = 0; v < QV; ++v) {
            unsigned lanes = 0xffffu & ~(unsigned)first_lanes(from - v * 16);
            if (own >= v * 16 && own < v * 16 + 16) lanes |= 1u << (own - v * 16);
            const __m512 w = weight(_mm512_mul_ps(acc[r][v], alpha), scale);
            _mm512_store_ps(to + r * QUERIES + v * 16, _mm512_maskz_mov_ps((__mmask16)lanes, w));
        }
    }
}

// sums[r][.] += over `count` keys: weights[key][r] * v[key][.], for R queries and V vectors of the head width
template <int R, int V>
static void value_rows(int64_t left, const float* weights, const float* v, int64_t stride, int64_t count, float* sums,
                       int64_t lds, __mmask16 last) {
    if constexpr (R > 1)
        if (left < R) return value_rows<R - 1, V>(left, weights, v, stride, count, sums, lds, last);
    __m512 acc[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < V; ++c) acc[r][c] = _mm512_setzero_ps();  // a sum of short sums rounds less
    multiply<R, V>(acc, weights, 1, QUERIES, v, stride, count, last);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < V; ++c) {
            float* to = sums + r * lds + c * 16;
            _mm512_store_ps(to, _mm512_add_ps(_mm512_load_ps(to), acc[r][c]));
        }
}

template <int V>
static void value_columns(int64_t vectors, int64_t queries, const float* weights, const float* v, int64_t stride,
                          int64_t count, float* sums, int64_t lds, __mmask16 last) {
    if constexpr (V > 1)
        if (vectors < V) return value_columns<V - 1>(vectors, queries, weights, v, stride, count, sums, lds, last);
    for (int64_t i = 0; i < queries; i += MR)
        value_rows<MR, V>(queries - i, weights + i, v, stride, count, sums + i * lds, lds, last);
}

// One tile of `queries` queries of one sequence and head; all pointers stand at position 0 of the sequence.
static void one_tile(const Tile& t, int64_t queries, const float* q, const float* k, const float* v, float* out,
                     float* packed, float* weights, float* sums) {
    const int64_t lds = (t.d + 15) & ~int64_t(15), vectors = lds / 16, parts = (vectors + DV - 1) / DV;
    for (int64_t c = 0; c < t.d; ++c)
        for (int64_t i = 0; i < QUERIES; ++i)
            packed[c * QUERIES + i] = q[(t.first + std::min(i, queries - 1)) * t.stride + c];
    std::fill(sums, sums + QUERIES * lds, 0.f);
    const int64_t end = t.first + queries, common = std::min(std::max<int64_t>(t.history, 0), end);
    // Keys of the history, then (if not among them) the tile's own positions.
    const int64_t ranges[2][2] = {{0, common}, {std::max(t.first, common), end}};
    for (const auto& range : ranges)
        for (int64_t j = range[0]; j < range[1]; j += KEYS) {
            const int64_t count = std::min<int64_t>(KEYS, range[1] - j);
            for (int64_t r = 0; r < count; r += MR) key_rows<MR>(count - r, t, k, packed, j + r, weights + r * QUERIES);
            // Values in even groups of vectors; queries before the first key see none of these keys.
            const int64_t skip = j >= t.history ? 0 : std::clamp<int64_t>((j - t.first) / MR * MR, 0, queries);
            for (int64_t p = 0; p < parts; ++p) {
                const int64_t v0 = p * vectors / parts, v1 = (p + 1) * vectors / parts;
                value_columns<DV>(v1 - v0, queries - skip, weights + skip, v + j * t.stride + v0 * 16, t.stride, count,
                                  sums + skip * lds + v0 * 16, lds, first_lanes(t.d - (v1 - 1) * 16));
            }
        }
    for (int64_t i = 0; i < queries; ++i) std::copy_n(sums + i * lds, t.d, out + (t.first + i) * t.stride);
}

extern "C" int hstu_attention(const float* q, const float* k, const float* v, const int64_t* offsets,
                              const int64_t* num_targets, double alpha, float* out, int64_t B, int64_t H, int64_t D,
                              int64_t L, int64_t T) {
    // Tiles of all sequences, longest work first within each: an even load without sorting.
    struct Job {
        int64_t b, h, first;
    };
    std::vector<Job> jobs;
    for (int64_t b = 0; b < B; ++b)
        for (int64_t h = 0; h < H; ++h)
            for (int64_t tile = (offsets[b + 1] - offsets[b] + QUERIES - 1) / QUERIES; tile-- > 0;)
                jobs.push_back({b, h, tile * QUERIES});
    const int64_t lds = (D + 15) & ~int64_t(15), stride = H * D;
    (void)T;
#pragma omp parallel num_threads(KE_THREADS)
    {
        Buffer packed = make_buffer(D * QUERIES), weights = make_buffer(KEYS * QUERIES + 16);
        Buffer sums = make_buffer(QUERIES * lds);
#pragma omp for schedule(dynamic, 1)
        for (int64_t job = 0; job < (int64_t)jobs.size(); ++job) {
            const auto [b, h, first] = jobs[job];
            const int64_t n = offsets[b + 1] - offsets[b], base = offsets[b] * stride + h * D;
            const Tile tile{first, n - num_targets[b], D, stride, (float)alpha, 1.f / (float)L};
            one_tile(tile, std::min(QUERIES, n - first), q + base, k + base, v + base, out + base, packed.get(),
                     weights.get(), sums.get());
        }
    }
    return 0;
}
