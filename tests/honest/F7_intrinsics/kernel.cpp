#if defined(__AVX2__)
#include <immintrin.h>
#endif

extern "C" int relu(const float* x, float* y, int64_t R, int64_t C) {
    const int64_t n = R * C;
    int64_t i = 0;
#if defined(__AVX2__)
    const __m256 zero = _mm256_setzero_ps();
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_max_ps(zero, _mm256_loadu_ps(x + i)));  // -0 stays -0
#endif
    for (; i < n; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
    return 0;
}
