// recipe: avx512_pipeline
// family: rms_norm
// summary: one loop writes a row and sums the squares of the next: memory is read and written at the same time
// isa: avx512f avx512dq
// dtype: float32
// knob STREAM_MIB = 32 16 0 1000000
// knob UNROLL = 4 1 2
// knob SERIAL_BELOW = 16384 4096 65536
// order: 40
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

enum Task { SUM = 1, WRITE = 2, WRITE_PAST_CACHE = 4 };

/// out = x*inverse*w for one row, and the sum of squares of `next`; either half is left out at the ends.
template <int TASK>
double step(const float* next, const float* x, const float* w, float* o, int64_t C, float inverse) {
    const __m512 k = _mm512_set1_ps(inverse);
    __m512 part[UNROLL];
    for (int u = 0; u < UNROLL; ++u) part[u] = _mm512_setzero_ps();
    const auto some = [&](int64_t i, __mmask16 m) {
        if (TASK & SUM) {
            const __m512 v = _mm512_maskz_loadu_ps(m, next + i);
            part[0] = _mm512_fmadd_ps(v, v, part[0]);
        }
        if (TASK & (WRITE | WRITE_PAST_CACHE)) {
            const __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(m, x + i), k);
            _mm512_mask_storeu_ps(o + i, m, _mm512_mul_ps(v, _mm512_maskz_loadu_ps(m, w + i)));
        }
    };
    double sum = 0.0;
    const auto fold = [&] {
        for (int u = 1; u < UNROLL; ++u) part[0] = _mm512_add_ps(part[0], part[u]);
        sum += _mm512_reduce_add_ps(part[0]);
        for (int u = 0; u < UNROLL; ++u) part[u] = _mm512_setzero_ps();
    };
    int64_t i = 0;
    if (TASK & WRITE_PAST_CACHE) {  // streaming stores need aligned lines
        const int64_t to_line = -(reinterpret_cast<uintptr_t>(o) / 4) & 15;
        i = to_line < C ? to_line : C;
        if (i) some(0, first(i));
    }
    while (i + 16 * UNROLL <= C) {
        const int64_t end = i + BLOCK < C ? i + BLOCK : C;
        for (; i + 16 * UNROLL <= end; i += 16 * UNROLL)
#pragma GCC unroll 4
            for (int u = 0; u < UNROLL; ++u) {
                const int64_t at = i + 16 * u;
                if (TASK & SUM) {
                    const __m512 v = _mm512_loadu_ps(next + at);
                    part[u] = _mm512_fmadd_ps(v, v, part[u]);
                }
                const __m512 y = TASK & (WRITE | WRITE_PAST_CACHE)
                                     ? _mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(x + at), k), _mm512_loadu_ps(w + at))
                                     : k;
                if (TASK & WRITE) _mm512_storeu_ps(o + at, y);
                if (TASK & WRITE_PAST_CACHE) _mm512_stream_ps(o + at, y);
            }
        if (TASK & SUM) fold();
    }
    for (; i < C; i += 16) some(i, first(C - i));
    if (TASK & SUM) fold();
    return sum;
}

inline float inverse_rms(double sum, int64_t n) { return 1.0f / std::sqrt(static_cast<float>(sum / n) + 1e-6f); }

template <int STORE>
void rows(const float* x, const float* w, float* out, int64_t low, int64_t high, int64_t C) {
    if (low >= high) return;
    float inverse = inverse_rms(step<SUM>(x + low * C, nullptr, nullptr, nullptr, C, 0.0f), C);
    for (int64_t r = low; r + 1 < high; ++r)
        inverse = inverse_rms(step<SUM | STORE>(x + (r + 1) * C, x + r * C, w, out + r * C, C, inverse), C);
    step<STORE>(nullptr, x + (high - 1) * C, w, out + (high - 1) * C, C, inverse);
}

}  // namespace

extern "C" int rms_norm(const float* x, const float* weight, float* out, int64_t R, int64_t C) {
    const bool stream = R * C / 131072 >= STREAM_MIB;  // 8 bytes per element
    const int n_threads = R * C < SERIAL_BELOW ? 1 : KE_THREADS;
#pragma omp parallel num_threads(n_threads)
    {
        const int64_t n = omp_get_num_threads(), t = omp_get_thread_num();
        if (stream)
            rows<WRITE_PAST_CACHE>(x, weight, out, R * t / n, R * (t + 1) / n, C);
        else
            rows<WRITE>(x, weight, out, R * t / n, R * (t + 1) / n, C);
        _mm_sfence();
    }
    return 0;
}
