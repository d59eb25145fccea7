// recipe: rows_vector
// family: interformer_pffn
// summary: portable: weights packed into column panels once per sample, row blocks through both register-blocked layers
// dtype: float32
// knob LANES = 16 8
// knob MR = 6 4 8
// knob NV = 2 4 3
// knob ROWS = 48 24 96
// order: 20
//
// LANES: floats per vector (the compiler splits what the chip lacks). MR, NV: rows and vectors of the register tile.
// ROWS: rows that go through both layers together.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

typedef float Vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
static constexpr int64_t PANEL = LANES * NV;

// Long sums are taken in pieces of CHAIN terms, which rounds less than one long chain.
static constexpr int64_t CHAIN = 256;

// R rows x one panel: to[r][.] = bias[.] + sum_s a[r][s] * panel[s][.]; a null bias adds to what is there.
template <int R>
static void tile(const float* a, int64_t lda, const float* panel, const float* bias, float* to, int64_t ldt,
                 int64_t steps) {
    Vec acc[R][NV];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) acc[r][v] = bias ? *(const Vec*)(bias + v * LANES) : Vec{};
    for (int64_t s = 0; s < steps; ++s)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const float g = a[r * lda + s];
#pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) acc[r][v] += g * *(const Vec*)(panel + s * PANEL + v * LANES);
        }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) {
            Vec* o = (Vec*)(to + r * ldt + v * LANES);
            *o = bias ? acc[r][v] : *o + acc[r][v];
        }
}

template <int R>
static inline void rows(int64_t left, const float* a, int64_t lda, const float* panel, const float* bias, float* to,
                        int64_t ldt, int64_t steps) {
    if constexpr (R > 1)
        if (left < R) return rows<R - 1>(left, a, lda, panel, bias, to, ldt, steps);
    tile<R>(a, lda, panel, bias, to, ldt, steps);
}

// A weight matrix [steps, width] and its bias, cut into panels of PANEL columns, zero past the end.
struct Packed {
    int64_t steps, width, padded;
    std::vector<float> panels, bias;

    Packed(int64_t steps_, int64_t width_)
        : steps(steps_), width(width_), padded((width_ + PANEL - 1) / PANEL * PANEL), panels(steps_ * padded),
          bias(padded) {}

    void load(const float* w, const float* b) {
        for (int64_t c = 0; c < padded; c += PANEL)
            for (int64_t s = 0; s < steps; ++s)
                std::memcpy(panels.data() + c * steps + s * PANEL, w + s * width + c,
                            std::min(PANEL, width - c) * sizeof(float));
        std::copy(b, b + width, bias.begin());
    }

    // to [count, padded] = a [count, steps] times the matrix, plus the bias
    void apply(const float* a, int64_t lda, int64_t count, float* to) const {
        for (int64_t c = 0; c < padded; c += PANEL)
            for (int64_t s = 0; s == 0 || s < steps; s += CHAIN)
                for (int64_t r = 0; r < count; r += MR)
                    rows<MR>(count - r, a + r * lda + s, lda, panels.data() + c * steps + s * PANEL,
                             s == 0 ? bias.data() + c : nullptr, to + r * padded + c, padded,
                             std::min(CHAIN, steps - s));
    }
};

static inline Vec horner(Vec, Vec acc) { return acc; }
template <class... Rest>
static inline Vec horner(Vec x, Vec acc, float next, Rest... rest) {
    return horner(x, acc * x + next, rest...);
}

// x * Phi(x). The upper tail 1 - Phi(t), t = |x| <= 6, is 2^p(t); beyond 6 it is below what x can notice.
static inline Vec gelu(Vec x) {
    const Vec a = x < 0.f ? -x : x, t = a > 6.f ? Vec{} + 6.f : a;
    const Vec p = horner(t, Vec{} + 4.02346259e-7f, -7.95459983e-6f, 6.5435307e-5f, -2.5433831e-4f, -3.91187129e-5f,
                         6.98759922e-3f, -0.0524675096f, -0.459212005f, -1.15110531f, -0.999999981f);
    const Ints n = __builtin_convertvector(p - 0.5f, Ints);  // p < 0: truncation rounds to nearest
    const Vec f = p - __builtin_convertvector(n, Vec);
    const Vec e = horner(f, Vec{} + 1.54773697e-4f, 1.34016252e-3f, 9.61800033e-3f, 0.0555032437f, 0.240226514f,
                         0.693147208f, 1.f);
    const Vec tail = a > 6.f ? Vec{} : e * (Vec)((n + 127) << 23);
    return x > 0.f ? x - x * tail : x * tail;
}

static float scale_of(const float* row, int64_t width) {
    float sum = 0.f;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < width; ++c) sum += row[c] * row[c];
    return 1.f / std::sqrt(sum / (float)width + 1e-6f);
}

extern "C" int interformer_pffn(const float* x, const float* w1, const float* b1, const float* g1, const float* w2,
                                const float* b2, const float* g2, float* out, int64_t B, int64_t N, int64_t D,
                                int64_t K) {
    const int64_t parts = (N + ROWS - 1) / ROWS;
#pragma omp parallel num_threads(KE_THREADS)
    {
        Packed first(D, K), second(K, D);
        std::vector<float> hidden(ROWS * first.padded), result(ROWS * second.padded);
        int64_t have = -1;
#pragma omp for schedule(static)
        for (int64_t task = 0; task < B * parts; ++task) {
            const int64_t b = task / parts, n0 = task % parts * ROWS, count = std::min<int64_t>(ROWS, N - n0);
            if (b != have) first.load(w1 + b * D * K, b1 + b * K), second.load(w2 + b * K * D, b2 + b * D), have = b;
            first.apply(x + (b * N + n0) * D, D, count, hidden.data());
            for (int64_t r = 0; r < count; ++r) {
                float* h = hidden.data() + r * first.padded;
                for (int64_t c = 0; c < first.padded; c += LANES) *(Vec*)(h + c) = gelu(*(const Vec*)(h + c));
                const float scale = scale_of(h, K);
#pragma omp simd
                for (int64_t c = 0; c < K; ++c) h[c] *= scale * g1[c];
            }
            second.apply(hidden.data(), first.padded, count, result.data());
            for (int64_t r = 0; r < count; ++r) {
                const float *y = result.data() + r * second.padded, scale = scale_of(y, D);
                float* o = out + (b * N + n0 + r) * D;
#pragma omp simd
                for (int64_t c = 0; c < D; ++c) o[c] = y[c] * (scale * g2[c]);
            }
        }
    }
    return 0;
}
