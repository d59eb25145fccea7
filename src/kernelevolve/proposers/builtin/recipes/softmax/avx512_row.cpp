// recipe: avx512_row
// family: softmax
// summary: maximum, then exponentials kept in L1 (or computed twice), then one scaled write, past the cache when large
// isa: avx512f avx512dq
// dtype: float32
// knob STREAM_MIB = 32 16 0 1000000
// knob KEEP = 16384 4096 0
// knob UNROLL = 2 4 8
// knob EXP_DEGREE = 6 5
// knob SERIAL_BELOW = 8192 2048 32768
// order: 30
#include <immintrin.h>
#include <omp.h>

#include <cmath>
#include <cstdint>
#include <vector>
#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

constexpr int64_t BLOCK = 4096;  // sums in float at most this far, in double beyond

inline __mmask16 first(int64_t n) {
    return n >= 16 ? static_cast<__mmask16>(0xffff) : static_cast<__mmask16>((1u << n) - 1u);
}

/// exp(x) for x <= 0, denormal results included; exp(-inf) = 0, NaN stays NaN.
inline __m512 exp_negative(__m512 x) {
    x = _mm512_max_ps(_mm512_set1_ps(-110.0f), x);  // the second operand wins when it is NaN
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 8);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
#if EXP_DEGREE == 6  // minimax over |r| <= ln(2)/2: 0.9 ulp
    __m512 p = _mm512_set1_ps(1.38144669e-3f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.36878042e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.16683942e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.66665201e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.99999934e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
#else  // 2 ulp
    __m512 p = _mm512_set1_ps(8.2902294e-3f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.18983901e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.66676401e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.99991461e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(9.99999705e-1f));
#endif
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, n);
}

float maximum(const float* x, int64_t n) {
    __m512 top[UNROLL];
    for (int u = 0; u < UNROLL; ++u) top[u] = _mm512_set1_ps(-INFINITY);
    int64_t i = 0;
    for (; i + 16 * UNROLL <= n; i += 16 * UNROLL)
#pragma GCC unroll 8
        for (int u = 0; u < UNROLL; ++u) top[u] = _mm512_max_ps(_mm512_loadu_ps(x + i + 16 * u), top[u]);
    for (; i < n; i += 16) {
        const __mmask16 m = first(n - i);
        top[0] = _mm512_mask_max_ps(top[0], m, _mm512_maskz_loadu_ps(m, x + i), top[0]);
    }
    for (int u = 1; u < UNROLL; ++u) top[0] = _mm512_max_ps(top[0], top[u]);
    return _mm512_reduce_max_ps(top[0]);
}

/// Sum of exp(x - top); the terms are written to `e` unless it is null.
template <bool WRITE>
double sum_of_exp(const float* x, float* e, int64_t C, float top) {
    const __m512 t = _mm512_set1_ps(top);
    double sum = 0.0;
    for (int64_t low = 0; low < C; low += BLOCK) {
        const int64_t high = low + BLOCK < C ? low + BLOCK : C;
        __m512 part[UNROLL];
        for (int u = 0; u < UNROLL; ++u) part[u] = _mm512_setzero_ps();
        int64_t i = low;
        for (; i + 16 * UNROLL <= high; i += 16 * UNROLL)
#pragma GCC unroll 8
            for (int u = 0; u < UNROLL; ++u) {
                const __m512 v = exp_negative(_mm512_sub_ps(_mm512_loadu_ps(x + i + 16 * u), t));
                if (WRITE) _mm512_storeu_ps(e + i + 16 * u, v);
                part[u] = _mm512_add_ps(part[u], v);
            }
        for (; i < high; i += 16) {
            const __mmask16 m = first(high - i);
            const __m512 v = exp_negative(_mm512_sub_ps(_mm512_maskz_loadu_ps(m, x + i), t));
            if (WRITE) _mm512_mask_storeu_ps(e + i, m, v);
            part[0] = _mm512_mask_add_ps(part[0], m, part[0], v);
        }
        for (int u = 1; u < UNROLL; ++u) part[0] = _mm512_add_ps(part[0], part[u]);
        sum += _mm512_reduce_add_ps(part[0]);
    }
    return sum;
}

/// o = inverse * x, or inverse * exp(x - top). Streaming stores need aligned lines: the ends go the ordinary way.
template <bool AGAIN>
void finish(const float* x, float* o, int64_t n, float top, float inverse, bool stream) {
    const __m512 t = _mm512_set1_ps(top), k = _mm512_set1_ps(inverse);
    const auto value = [&](__m512 v) { return _mm512_mul_ps(AGAIN ? exp_negative(_mm512_sub_ps(v, t)) : v, k); };
    int64_t i = 0;
    if (stream) {
        const int64_t to_line = -(reinterpret_cast<uintptr_t>(o) / 4) & 15;
        i = to_line < n ? to_line : n;
        if (i) _mm512_mask_storeu_ps(o, first(i), value(_mm512_maskz_loadu_ps(first(i), x)));
        for (; i + 16 <= n; i += 16) _mm512_stream_ps(o + i, value(_mm512_loadu_ps(x + i)));
    } else {
        for (; i + 16 <= n; i += 16) _mm512_storeu_ps(o + i, value(_mm512_loadu_ps(x + i)));
    }
    if (i < n) _mm512_mask_storeu_ps(o + i, first(n - i), value(_mm512_maskz_loadu_ps(first(n - i), x + i)));
}

}  // namespace

extern "C" int softmax(const float* x, float* out, int64_t R, int64_t C) {
    const bool stream = R * C / 131072 >= STREAM_MIB, keep = C <= KEEP;  // 8 bytes per element
    const int n_threads = R * C < SERIAL_BELOW ? 1 : KE_THREADS;
#pragma omp parallel num_threads(n_threads)
    {
        // A streamed line must not be touched before, so the terms wait in a row of their own.
        std::vector<float> waiting(stream && keep ? C : 0);
#pragma omp for schedule(static)
        for (int64_t r = 0; r < R; ++r) {
            const float* row = x + r * C;
            float* o = out + r * C;
            const float top = maximum(row, C);
            if (keep) {
                float* e = stream ? waiting.data() : o;
                const double sum = sum_of_exp<true>(row, e, C, top);
                finish<false>(e, o, C, top, static_cast<float>(1.0 / sum), stream);
            } else {
                const double sum = sum_of_exp<false>(row, nullptr, C, top);
                finish<true>(row, o, C, top, static_cast<float>(1.0 / sum), stream);
            }
        }
        _mm_sfence();
    }
    return 0;
}
