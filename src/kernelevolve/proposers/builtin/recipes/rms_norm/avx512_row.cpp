// recipe: avx512_row
// family: rms_norm
// summary: row in L1 between its two passes, results past the cache when large, long rows shared by the threads
// isa: avx512f avx512dq
// dtype: float32
// knob STREAM_MIB = 32 16 0 1000000
// knob AHEAD = 0 1
// knob ROWS = 1 2 4
// knob UNROLL = 4 2 8
// knob SERIAL_BELOW = 16384 4096 65536
// order: 30
#include <immintrin.h>
#include <omp.h>

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

double sum_of_squares(const float* x, int64_t n) {
    double sum = 0.0;
    for (int64_t low = 0; low < n; low += BLOCK) {
        const int64_t high = low + BLOCK < n ? low + BLOCK : n;
        __m512 part[UNROLL];
        for (int u = 0; u < UNROLL; ++u) part[u] = _mm512_setzero_ps();
        int64_t i = low;
        for (; i + 16 * UNROLL <= high; i += 16 * UNROLL)
#pragma GCC unroll 8
            for (int u = 0; u < UNROLL; ++u) {
                const __m512 v = _mm512_loadu_ps(x + i + 16 * u);
                part[u] = _mm512_fmadd_ps(v, v, part[u]);
            }
        for (; i < high; i += 16) {
            const __m512 v = _mm512_maskz_loadu_ps(first(high - i), x + i);
            part[0] = _mm512_fmadd_ps(v, v, part[0]);
        }
        for (int u = 1; u < UNROLL; ++u) part[0] = _mm512_add_ps(part[0], part[u]);
        sum += _mm512_reduce_add_ps(part[0]);
    }
    return sum;
}

inline float inverse_rms(double sum, int64_t n) { return 1.0f / std::sqrt(static_cast<float>(sum / n) + 1e-6f); }

/// One stretch of one row. Streaming stores need aligned lines: the ends are written the ordinary way.
void scale(const float* x, const float* w, float* o, int64_t n, float inverse, bool stream) {
    const __m512 k = _mm512_set1_ps(inverse);
    int64_t i = 0;
    if (stream) {
        const int64_t to_line = -(reinterpret_cast<uintptr_t>(o) / 4) & 15, head = to_line < n ? to_line : n;
        if (head) {
            const __mmask16 m = first(head);
            const __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(m, x), k);
            _mm512_mask_storeu_ps(o, m, _mm512_mul_ps(v, _mm512_maskz_loadu_ps(m, w)));
        }
        for (i = head; i + 16 <= n; i += 16) {
            if (AHEAD) _mm_prefetch(reinterpret_cast<const char*>(x + n + i), _MM_HINT_T0);
            _mm512_stream_ps(o + i, _mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(x + i), k), _mm512_loadu_ps(w + i)));
        }
    } else {
        for (; i + 16 <= n; i += 16) {
            if (AHEAD) _mm_prefetch(reinterpret_cast<const char*>(x + n + i), _MM_HINT_T0);
            _mm512_storeu_ps(o + i, _mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(x + i), k), _mm512_loadu_ps(w + i)));
        }
    }
    if (i < n) {
        const __mmask16 m = first(n - i);
        const __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(m, x + i), k);
        _mm512_mask_storeu_ps(o + i, m, _mm512_mul_ps(v, _mm512_maskz_loadu_ps(m, w + i)));
    }
}

/// ROWS rows at a time: each piece of the weight is loaded once for all of them.
void scale_rows(const float* x, const float* w, float* o, int64_t C, const float* inverse, bool stream) {
    for (int64_t i = 0; i < C; i += 16) {
        const __m512 weight = _mm512_loadu_ps(w + i);
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; ++r) {
            if (AHEAD) _mm_prefetch(reinterpret_cast<const char*>(x + (ROWS + r) * C + i), _MM_HINT_T0);
            const __m512 y = _mm512_mul_ps(_mm512_loadu_ps(x + r * C + i), _mm512_set1_ps(inverse[r]));
            const __m512 v = _mm512_mul_ps(y, weight);
            if (stream)
                _mm512_stream_ps(o + r * C + i, v);
            else
                _mm512_storeu_ps(o + r * C + i, v);
        }
    }
}

/// Fewer rows than would keep the threads busy: every thread takes a stretch of every row.
void split(const float* x, const float* w, float* out, int64_t R, int64_t C, bool stream) {
    double parts[KE_THREADS][8];
#pragma omp parallel num_threads(KE_THREADS)
    {
        const int64_t n = omp_get_num_threads(), t = omp_get_thread_num();
        const int64_t step = ((C + n - 1) / n + 15) / 16 * 16;
        const int64_t low = t * step < C ? t * step : C, high = low + step < C ? low + step : C;
        for (int64_t r = 0; r < R; ++r) {
            parts[t][0] = sum_of_squares(x + r * C + low, high - low);
#pragma omp barrier
            double sum = 0.0;
            for (int64_t i = 0; i < n; ++i) sum += parts[i][0];
            scale(x + r * C + low, w + low, out + r * C + low, high - low, inverse_rms(sum, C), stream);
#pragma omp barrier
        }
        _mm_sfence();
    }
}

}  // namespace

extern "C" int rms_norm(const float* x, const float* weight, float* out, int64_t R, int64_t C) {
    const bool stream = R * C / 131072 >= STREAM_MIB;  // 8 bytes per element
    if (KE_THREADS > 1 && R % KE_THREADS && R < 4 * KE_THREADS && C >= 16384) {
        split(x, weight, out, R, C, stream);
        return 0;
    }
    const int n_threads = R * C < SERIAL_BELOW ? 1 : KE_THREADS;
#pragma omp parallel num_threads(n_threads)
    {
        const int64_t n = omp_get_num_threads(), t = omp_get_thread_num();
        const int64_t high = R * (t + 1) / n;
        int64_t r = R * t / n;
        if (ROWS > 1 && C % 16 == 0 && reinterpret_cast<uintptr_t>(out) % 64 == 0)
            for (; r + ROWS <= high; r += ROWS) {
                float inverse[ROWS];
                for (int i = 0; i < ROWS; ++i) inverse[i] = inverse_rms(sum_of_squares(x + (r + i) * C, C), C);
                scale_rows(x + r * C, weight, out + r * C, C, inverse, stream);
            }
        for (; r < high; ++r)
            scale(x + r * C, weight, out + r * C, C, inverse_rms(sum_of_squares(x + r * C, C), C), stream);
        _mm_sfence();
    }
    return 0;
}
