// recipe: stream_avx512
// family: jagged_to_padded_dense
// summary: equal shares written in 64-byte lines; STREAM_OUT bypasses the cache, so the output is never read first
// isa: avx512f
// knob STREAM_OUT = 1 0
// knob PREFETCH_BYTES = 0 512 1024 2048
// knob UNROLL = 4 1 2 8
// knob MIN_PARALLEL = 65536 8192 262144
// order: 40
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

inline __mmask16 lanes(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }

inline int64_t to_line(const float* to, int64_t n) {
    return std::min<int64_t>(n, -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) / 4) & 15);
}

inline void put(float* to, __m512 x) {
#if STREAM_OUT
    _mm512_stream_ps(to, x);
#else
    _mm512_store_ps(to, x);
#endif
}

void copy(const float* from, int64_t n, float* to) {
    int64_t i = to_line(to, n);
    _mm512_mask_storeu_ps(to, lanes(i), _mm512_maskz_loadu_ps(lanes(i), from));
    for (; i + 16 * UNROLL <= n; i += 16 * UNROLL)
#pragma GCC unroll 8
        for (int u = 0; u < UNROLL; ++u) {
            if (PREFETCH_BYTES > 0) __builtin_prefetch(from + i + 16 * u + PREFETCH_BYTES / 4);
            put(to + i + 16 * u, _mm512_loadu_ps(from + i + 16 * u));
        }
    for (; i + 16 <= n; i += 16) put(to + i, _mm512_loadu_ps(from + i));
    _mm512_mask_storeu_ps(to + i, lanes(n - i), _mm512_maskz_loadu_ps(lanes(n - i), from + i));
}

void fill(__m512 pad, int64_t n, float* to) {
    int64_t i = to_line(to, n);
    _mm512_mask_storeu_ps(to, lanes(i), pad);
    for (; i + 16 <= n; i += 16) put(to + i, pad);
    _mm512_mask_storeu_ps(to + i, lanes(n - i), pad);
}

}  // namespace

extern "C" int jagged_to_padded_dense(const float* values, const int64_t* offsets, double padding, float* out,
                                      int64_t B, int64_t L, int64_t D, int64_t) {
    const __m512 pad = _mm512_set1_ps(static_cast<float>(padding));
    const int64_t row_size = L * D, size = B * row_size;
#pragma omp parallel for schedule(static, 1) num_threads(KE_THREADS) if (size >= MIN_PARALLEL)
    for (int64_t share = 0; share < KE_THREADS; ++share) {
        // multiples of 16 floats: no cache line of the output belongs to two threads
        const int64_t end = share + 1 == KE_THREADS ? size : size / 16 * (share + 1) / KE_THREADS * 16;
        for (int64_t at = size / 16 * share / KE_THREADS * 16; at < end;) {
            const int64_t b = at / row_size, begin = at % row_size;
            const int64_t stop = std::min(row_size, begin + (end - at));
            const int64_t n = std::clamp(std::min(offsets[b + 1] - offsets[b], L) * D, begin, stop);
            if (n > begin) copy(values + offsets[b] * D + begin, n - begin, out + at);
            if (stop > n) fill(pad, stop - n, out + b * row_size + n);
            at += stop - begin;
        }
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    return 0;
}
