// recipe: plain_rows
// family: hstu_attention
// summary: one query at a time: scores of the keys it sees, SiLU, weighted sum of their values; no padding, no masking
// dtype: float32
// knob KEYS = 4 1 2 8
// knob CHUNK = 4 1 16
// order: 10
//
// KEYS: keys scored together for one query. CHUNK: (sequence, head) pairs handed out at a time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

// N dot products of q with consecutive keys, as weights silu(alpha * dot) / length.
template <int N>
static inline void weigh(const float* q, const float* k, int64_t stride, int64_t d, float alpha, float scale,
                         float* to) {
    float sum[N] = {};
#pragma omp simd reduction(+ : sum[:N])
    for (int64_t c = 0; c < d; ++c)
        for (int s = 0; s < N; ++s) sum[s] += q[c] * k[s * stride + c];
    for (int s = 0; s < N; ++s) {
        const float a = alpha * sum[s];
        to[s] = a / (1.f + std::exp(-a)) * scale;
    }
}

static inline void add_row(float* o, const float* v, float weight, int64_t d) {
#pragma omp simd
    for (int64_t c = 0; c < d; ++c) o[c] += weight * v[c];
}

extern "C" int hstu_attention(const float* q, const float* k, const float* v, const int64_t* offsets,
                              const int64_t* num_targets, double alpha, float* out, int64_t B, int64_t H, int64_t D,
                              int64_t L, int64_t T) {
    const float a = (float)alpha, scale = 1.f / (float)L;
    const int64_t stride = H * D;
#pragma omp parallel num_threads(KE_THREADS)
    {
        std::vector<float> weights, part(D);
#pragma omp for schedule(dynamic, CHUNK)
        for (int64_t task = 0; task < B * H; ++task) {
            const int64_t b = task / H, n = offsets[b + 1] - offsets[b], base = offsets[b] * stride + task % H * D;
            const int64_t history = std::max<int64_t>(0, n - num_targets[b]);
            const float *kb = k + base, *vb = v + base;
            weights.resize(n);
            for (int64_t i = 0; i < n; ++i) {
                const float* qi = q + base + i * stride;
                float *o = out + base + i * stride, own;
                const int64_t seen = std::min(i, history);  // and itself
                int64_t j = 0;
                for (; j + KEYS <= seen; j += KEYS) weigh<KEYS>(qi, kb + j * stride, stride, D, a, scale, &weights[j]);
                for (; j < seen; ++j) weigh<1>(qi, kb + j * stride, stride, D, a, scale, &weights[j]);
                weigh<1>(qi, kb + i * stride, stride, D, a, scale, &own);
                std::fill(o, o + D, 0.f);
                for (int64_t j0 = 0; j0 < seen; j0 += 64) {  // a sum of short sums rounds less than one long one
                    std::fill(part.begin(), part.end(), 0.f);
                    for (j = j0; j < std::min(seen, j0 + 64); ++j) add_row(part.data(), vb + j * stride, weights[j], D);
                    add_row(o, part.data(), 1.f, D);
                }
                add_row(o, vb + i * stride, own, D);
            }
        }
    }
    (void)T;
    return 0;
}
