// recipe: plain_gram
// family: wukong_optimized_fm
// summary: re-associate to (x x^T) y: N*N scalars per sample replace the D x K intermediate; plain loops
// dtype: float32
// knob COLUMNS = 256 64 1024
// order: 10
#include <algorithm>
#include <cstdint>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

// gram[i][j] = <x_i, x_j>; symmetric, so only half is computed.
static void gram_matrix(const float* x, int64_t n, int64_t d, float* gram) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i; j < n; ++j) {
            const float *p = x + i * d, *q = x + j * d;
            float sum = 0.f;
#pragma omp simd reduction(+ : sum)
            for (int64_t c = 0; c < d; ++c) sum += p[c] * q[c];
            gram[i * n + j] = gram[j * n + i] = sum;
        }
}

extern "C" int wukong_optimized_fm(const float* x, const float* y, float* out, int64_t B, int64_t N, int64_t D,
                                   int64_t K) {
#pragma omp parallel num_threads(KE_THREADS)
    {
        std::vector<float> gram(N * N);
#pragma omp for schedule(static)
        for (int64_t b = 0; b < B; ++b) {
            gram_matrix(x + b * N * D, N, D, gram.data());
            // Columns in chunks so that the rows of y being mixed stay in the nearest cache.
            for (int64_t c0 = 0; c0 < K; c0 += COLUMNS) {
                const int64_t width = std::min<int64_t>(COLUMNS, K - c0);
                for (int64_t i = 0; i < N; ++i) {
                    float* o = out + (b * N + i) * K + c0;
                    std::fill(o, o + width, 0.f);
                    for (int64_t j = 0; j < N; ++j) {
                        const float g = gram[i * N + j];
                        const float* row = y + (b * N + j) * K + c0;
#pragma omp simd
                        for (int64_t c = 0; c < width; ++c) o[c] += g * row[c];
                    }
                }
            }
        }
    }
    return 0;
}
