// recipe: plain_rows
// family: interformer_pffn
// summary: a few rows at a time through both layers, so that the hidden values never leave the cache; plain loops
// dtype: float32
// knob ROWS = 8 1 4 16
// order: 10
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

// Long sums are taken in pieces of CHAIN terms, which rounds less than one long chain.
static constexpr int64_t CHAIN = 256;

// to[r][c] = bias[c] + sum_s a[r][s] * w[s][c] for `count` rows.
static void affine(const float* a, const float* w, const float* bias, float* to, float* part, int64_t count,
                   int64_t steps, int64_t width) {
    for (int64_t r = 0; r < count; ++r) std::copy(bias, bias + width, to + r * width);
    for (int64_t s0 = 0; s0 < steps; s0 += CHAIN) {
        std::fill(part, part + count * width, 0.f);
        for (int64_t s = s0; s < std::min(steps, s0 + CHAIN); ++s)
            for (int64_t r = 0; r < count; ++r) {
                const float g = a[r * steps + s];
                float* o = part + r * width;
#pragma omp simd
                for (int64_t c = 0; c < width; ++c) o[c] += g * w[s * width + c];
            }
#pragma omp simd
        for (int64_t c = 0; c < count * width; ++c) to[c] += part[c];
    }
}

static void rms_norm(float* row, const float* gain, int64_t width) {
    float sum = 0.f;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < width; ++c) sum += row[c] * row[c];
    const float scale = 1.f / std::sqrt(sum / (float)width + 1e-6f);
#pragma omp simd
    for (int64_t c = 0; c < width; ++c) row[c] *= scale * gain[c];
}

extern "C" int interformer_pffn(const float* x, const float* w1, const float* b1, const float* g1, const float* w2,
                                const float* b2, const float* g2, float* out, int64_t B, int64_t N, int64_t D,
                                int64_t K) {
    const int64_t parts = (N + ROWS - 1) / ROWS;
#pragma omp parallel num_threads(KE_THREADS)
    {
        std::vector<float> hidden(ROWS * K), part(ROWS * std::max(D, K));
#pragma omp for schedule(static)
        for (int64_t task = 0; task < B * parts; ++task) {
            const int64_t b = task / parts, n0 = task % parts * ROWS, count = std::min<int64_t>(ROWS, N - n0);
            float* o = out + (b * N + n0) * D;
            affine(x + (b * N + n0) * D, w1 + b * D * K, b1 + b * K, hidden.data(), part.data(), count, D, K);
            for (int64_t r = 0; r < count; ++r) {
                float* h = hidden.data() + r * K;
                for (int64_t c = 0; c < K; ++c) h[c] *= 0.5f * std::erfc(h[c] * -0.70710678f);
                rms_norm(h, g1, K);
            }
            affine(hidden.data(), w2 + b * K * D, b2 + b * D, o, part.data(), count, K, D);
            for (int64_t r = 0; r < count; ++r) rms_norm(o + r * D, g2, D);
        }
    }
    return 0;
}
