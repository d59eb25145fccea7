#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        const float* in = x + r * C;
        float* out = y + r * C;
        int64_t c = 0;
#if defined(__AVX2__) && defined(__FMA__)
        while (c < C && ((uintptr_t)(out + c) & 31)) {  // streaming stores need whole aligned vectors
            out[c] = in[c] * w[c] + 1.0f;
            ++c;
        }
        for (; c + 8 <= C; c += 8)
            _mm256_stream_ps(out + c,
                             _mm256_fmadd_ps(_mm256_loadu_ps(in + c), _mm256_loadu_ps(w + c), _mm256_set1_ps(1.0f)));
#endif
        for (; c < C; ++c) out[c] = in[c] * w[c] + 1.0f;
    }
#if defined(__AVX2__) && defined(__FMA__)
    _mm_sfence();
#endif
    return 0;
}
