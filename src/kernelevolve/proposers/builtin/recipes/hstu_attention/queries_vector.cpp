// recipe: queries_vector
// family: hstu_attention
// summary: portable: tiles of queries in the lanes of vector types, keys and values broadcast or read in place
// dtype: float32
// knob LANES = 16 8
// knob QV = 2 1 3
// knob MR = 8 4 6
// knob KEYS = 32 64 16
// order: 20
//
// LANES: floats per vector (the compiler splits what the chip lacks). QV: query vectors per tile. MR: rows of the
// register tiles. KEYS: keys per step (their values stay near).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

typedef float Vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
static constexpr int64_t QUERIES = LANES * QV;

static inline Vec horner(Vec, Vec acc) { return acc; }
template <class... Rest>
static inline Vec horner(Vec x, Vec acc, float next, Rest... rest) {
    return horner(x, acc * x + next, rest...);
}

// scale * a / (1 + exp(-a)); exp by splitting -a / ln 2 into a whole number and a fraction.
static inline Vec weight(Vec a, float scale) {
    Vec z = a > 80.f ? Vec{} + 80.f : a;
    z = z < -80.f ? Vec{} - 80.f : z;
    const Vec y = z * -1.44269502f;
    const Ints n = __builtin_convertvector(y < 0.f ? y - 0.5f : y + 0.5f, Ints);  // truncation rounds to nearest
    const Vec f = (z * -1.44269502f - __builtin_convertvector(n, Vec)) + z * -1.92596299e-8f;
    const Vec e = horner(f, Vec{} + 1.54773697e-4f, 1.34016252e-3f, 9.61800033e-3f, 0.0555032437f, 0.240226514f,
                         0.693147208f, 1.f);
    return a * scale / (1.f + e * (Vec)((n + 127) << 23));
}

// acc[r] += sum_s a[r * a_row + s * a_step] * row s of a matrix of LANES * V columns
template <int R, int V>
static inline void multiply(Vec (&acc)[R][V], const float* a, int64_t a_row, int64_t a_step, const float* b,
                            int64_t ldb, int64_t steps) {
    for (int64_t s = 0; s < steps; ++s)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const float g = a[r * a_row + s * a_step];
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) acc[r][v] += g * *(const Vec*)(b + s * ldb + v * LANES);
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
    Vec acc[R][QV];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < QV; ++v) acc[r][v] = Vec{} + 0.f;
    multiply<R, QV>(acc, k + j * t.stride, t.stride, 1, packed, QUERIES, t.d);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < QV; ++v) *(Vec*)(to + r * QUERIES + v * LANES) = weight(acc[r][v] * t.alpha, t.scale);
    for (int r = 0; r < R; ++r) {
        const int64_t own = j + r - t.first, hidden = j + r < t.history ? own : QUERIES;
        for (int64_t i = 0; i < std::min(hidden, QUERIES); ++i)
            if (i != own) to[r * QUERIES + i] = 0.f;
    }
}

// sums[r][.] += over `count` keys: weights[key][r] * values[key][.], for R queries and one vector of the head width
template <int R>
static void value_rows(int64_t left, const float* weights, const float* values, int64_t count, float* sums,
                       int64_t ld) {
    if constexpr (R > 1)
        if (left < R) return value_rows<R - 1>(left, weights, values, count, sums, ld);
    Vec acc[R][QV];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < QV; ++v) acc[r][v] = Vec{} + 0.f;  // a sum of short sums rounds less
    multiply<R, QV>(acc, weights, 1, QUERIES, values, ld, count);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < QV; ++v) *(Vec*)(sums + r * ld + v * LANES) += acc[r][v];
}

struct Scratch {
    int64_t ld;  // head width rounded up to whole groups of QV vectors; columns past the width stay zero
    std::vector<float> packed, weights, values, sums;

    explicit Scratch(int64_t d)
        : ld((d + QUERIES - 1) / QUERIES * QUERIES), packed(d * QUERIES), weights(KEYS * QUERIES), values(KEYS * ld),
          sums(QUERIES * ld) {}
};

static void one_tile(const Tile& t, int64_t queries, const float* q, const float* k, const float* v, float* out,
                     Scratch& s) {
    for (int64_t c = 0; c < t.d; ++c)
        for (int64_t i = 0; i < QUERIES; ++i)
            s.packed[c * QUERIES + i] = q[(t.first + std::min(i, queries - 1)) * t.stride + c];
    std::fill(s.sums.begin(), s.sums.end(), 0.f);
    const int64_t end = t.first + queries, common = std::min(std::max<int64_t>(t.history, 0), end);
    // Keys of the history, then (if not among them) the tile's own positions.
    const int64_t ranges[2][2] = {{0, common}, {std::max(t.first, common), end}};
    for (const auto& range : ranges)
        for (int64_t j = range[0]; j < range[1]; j += KEYS) {
            const int64_t count = std::min<int64_t>(KEYS, range[1] - j);
            for (int64_t r = 0; r < count; r += MR)
                key_rows<MR>(count - r, t, k, s.packed.data(), j + r, s.weights.data() + r * QUERIES);
            for (int64_t r = 0; r < count; ++r) std::copy_n(v + (j + r) * t.stride, t.d, s.values.data() + r * s.ld);
            for (int64_t c = 0; c < s.ld; c += QUERIES)
                for (int64_t i = 0; i < queries; i += MR)
                    value_rows<MR>(queries - i, s.weights.data() + i, s.values.data() + c, count,
                                   s.sums.data() + i * s.ld + c, s.ld);
        }
    for (int64_t i = 0; i < queries; ++i) std::copy_n(s.sums.data() + i * s.ld, t.d, out + (t.first + i) * t.stride);
}

extern "C" int hstu_attention(const float* q, const float* k, const float* v, const int64_t* offsets,
                              const int64_t* num_targets, double alpha, float* out, int64_t B, int64_t H, int64_t D,
                              int64_t L, int64_t T) {
    struct Job {
        int64_t b, h, first;
    };
    std::vector<Job> jobs;  // the longest work first within each sequence: an even load without sorting
    for (int64_t b = 0; b < B; ++b)
        for (int64_t h = 0; h < H; ++h)
            for (int64_t tile = (offsets[b + 1] - offsets[b] + QUERIES - 1) / QUERIES; tile-- > 0;)
                jobs.push_back({b, h, tile * QUERIES});
    const int64_t stride = H * D;
    (void)T;
#pragma omp parallel num_threads(KE_THREADS)
    {
        Scratch scratch(D);
#pragma omp for schedule(dynamic, 1)
        for (int64_t job = 0; job < (int64_t)jobs.size(); ++job) {
            const auto [b, h, first] = jobs[job];
            const int64_t n = offsets[b + 1] - offsets[b], base = offsets[b] * stride + h * D;
            const Tile tile{first, n - num_targets[b], D, stride, (float)alpha, 1.f / (float)L};
            one_tile(tile, std::min(QUERIES, n - first), q + base, k + base, v + base, out + base, scratch);
        }
    }
    return 0;
}
