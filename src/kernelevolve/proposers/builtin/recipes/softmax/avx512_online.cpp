// recipe: avx512_online
// family: softmax
// summary: running maximum and sum per lane in one pass, exponentials again in the write pass; long rows shared
// isa: avx512f avx512dq
// dtype: float32
// knob STREAM_MIB = 32 16 0 1000000
// knob GROUP = 4 2 8
// knob SPLIT_ABOVE = 16384 65536
// knob EXP_DEGREE = 6 5
// knob SERIAL_BELOW = 8192 2048 32768
// order: 40
#include <immintrin.h>
#include <omp.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
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

/// sum of exp(x - top) over what was seen. `top` starts finite, so that -inf gives terms of 0, not NaN.
struct Seen {
    float top = -FLT_MAX;
    double sum = 0.0;

    void add(const Seen& other) {
        const float higher = other.top > top ? other.top : top;
        sum *= std::exp(static_cast<double>(top) - higher);
        sum += other.sum * std::exp(static_cast<double>(other.top) - higher);
        top = higher;
    }
};

/// At most BLOCK elements: GROUP vectors share one correction of the running sums.
Seen see_block(const float* x, int64_t n) {
    __m512 top = _mm512_set1_ps(-FLT_MAX), sum = _mm512_setzero_ps();
    int64_t i = 0;
    for (; i + 16 * GROUP <= n; i += 16 * GROUP) {
        __m512 v[GROUP], higher = top, part = _mm512_setzero_ps();
#pragma GCC unroll 8
        for (int u = 0; u < GROUP; ++u) {
            v[u] = _mm512_loadu_ps(x + i + 16 * u);
            higher = _mm512_max_ps(v[u], higher);  // NaN: the second operand stays
        }
        sum = _mm512_mul_ps(sum, exp_negative(_mm512_sub_ps(top, higher)));
#pragma GCC unroll 8
        for (int u = 0; u < GROUP; ++u) part = _mm512_add_ps(part, exp_negative(_mm512_sub_ps(v[u], higher)));
        sum = _mm512_add_ps(sum, part);
        top = higher;
    }
    for (; i < n; i += 16) {
        const __mmask16 m = first(n - i);
        const __m512 v = _mm512_mask_loadu_ps(_mm512_set1_ps(-INFINITY), m, x + i), higher = _mm512_max_ps(v, top);
        sum = _mm512_mul_ps(sum, exp_negative(_mm512_sub_ps(top, higher)));
        sum = _mm512_mask_add_ps(sum, m, sum, exp_negative(_mm512_sub_ps(v, higher)));
        top = higher;
    }
    Seen seen;
    seen.top = _mm512_reduce_max_ps(top);
    seen.sum = _mm512_reduce_add_ps(_mm512_mul_ps(sum, exp_negative(_mm512_sub_ps(top, _mm512_set1_ps(seen.top)))));
    return seen;
}

Seen see(const float* x, int64_t n) {
    if (n <= BLOCK) return see_block(x, n);
    Seen seen;
    for (int64_t low = 0; low < n; low += BLOCK) seen.add(see_block(x + low, n - low < BLOCK ? n - low : BLOCK));
    return seen;
}

/// o = inverse * exp(x - top). Streaming stores need aligned lines: the ends go the ordinary way.
void finish(const float* x, float* o, int64_t n, Seen seen, bool stream) {
    const __m512 t = _mm512_set1_ps(seen.top), k = _mm512_set1_ps(static_cast<float>(1.0 / seen.sum));
    const auto value = [&](__m512 v) { return _mm512_mul_ps(exp_negative(_mm512_sub_ps(v, t)), k); };
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

/// Fewer rows than would keep the threads busy: every thread takes a stretch of every row.
void split(const float* x, float* out, int64_t R, int64_t C, bool stream) {
    Seen parts[KE_THREADS][4];
#pragma omp parallel num_threads(KE_THREADS)
    {
        const int64_t n = omp_get_num_threads(), t = omp_get_thread_num();
        const int64_t step = ((C + n - 1) / n + 15) / 16 * 16;
        const int64_t low = t * step < C ? t * step : C, high = low + step < C ? low + step : C;
        for (int64_t r = 0; r < R; ++r) {
            parts[t][0] = see(x + r * C + low, high - low);
#pragma omp barrier
            Seen all;
            for (int64_t i = 0; i < n; ++i) all.add(parts[i][0]);
            finish(x + r * C + low, out + r * C + low, high - low, all, stream);
#pragma omp barrier
        }
        _mm_sfence();
    }
}

}  // namespace

extern "C" int softmax(const float* x, float* out, int64_t R, int64_t C) {
    const bool stream = R * C / 131072 >= STREAM_MIB;  // 8 bytes per element
    if (KE_THREADS > 1 && R % KE_THREADS && R < 4 * KE_THREADS && C >= SPLIT_ABOVE) {
        split(x, out, R, C, stream);
        return 0;
    }
    const int n_threads = R * C < SERIAL_BELOW ? 1 : KE_THREADS;
#pragma omp parallel num_threads(n_threads)
    {
#pragma omp for schedule(static)
        for (int64_t r = 0; r < R; ++r) finish(x + r * C, out + r * C, C, see(x + r * C, C), stream);
        _mm_sfence();
    }
    return 0;
}
