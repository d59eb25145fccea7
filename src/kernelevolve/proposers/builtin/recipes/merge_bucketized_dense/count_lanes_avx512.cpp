// recipe: count_lanes_avx512
// family: merge_bucketized_dense
// summary: GROUPS x 16 values stay in registers while all borders of the feature pass; 32-bit counts widened at the end
// isa: avx512f avx512dq
// knob GROUPS = 4 1 2 8
// knob STREAM_OUT = 0 1
// knob MIN_PARALLEL = 16384 2048 131072
// order: 30
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

constexpr int64_t kChunk = 4096;  // values of one feature that a thread takes at once

inline __mmask16 lanes(int64_t n) { return static_cast<__mmask16>(n >= 16 ? 0xffff : (1 << n) - 1); }

inline void widen(__m512i count, __m512i shift, int64_t* out) {
    const __m512i low = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(count)), shift);
    const __m512i high = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(count, 1)), shift);
#if STREAM_OUT
    if (reinterpret_cast<uintptr_t>(out) % 64 == 0) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(out), low);
        _mm512_stream_si512(reinterpret_cast<__m512i*>(out + 8), high);
        return;
    }
#endif
    _mm512_storeu_si512(out, low);
    _mm512_storeu_si512(out + 8, high);
}

inline void widen_some(__m512i count, __m512i shift, int64_t* out, __mmask16 active) {
    const __m512i low = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(count)), shift);
    const __m512i high = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(count, 1)), shift);
    _mm512_mask_storeu_epi64(out, static_cast<__mmask8>(active), low);
    _mm512_mask_storeu_epi64(out + 8, static_cast<__mmask8>(active >> 8), high);
}

// NaN belongs above every border: "not at most" instead of "above".
void do_chunk(const float* x, const float* borders, int64_t n_borders, int64_t shift, int64_t* out, int64_t n) {
    const __m512i one = _mm512_set1_epi32(1), wide_shift = _mm512_set1_epi64(shift);
    int64_t i = 0;
    for (; i + 16 * GROUPS <= n; i += 16 * GROUPS) {
        __m512 value[GROUPS];
        __m512i count[GROUPS];
        for (int g = 0; g < GROUPS; ++g) value[g] = _mm512_loadu_ps(x + i + 16 * g);
        for (int g = 0; g < GROUPS; ++g) count[g] = _mm512_setzero_si512();
        for (int64_t b = 0; b < n_borders; ++b) {
            const __m512 border = _mm512_set1_ps(borders[b]);
            for (int g = 0; g < GROUPS; ++g) {
                const __mmask16 above = _mm512_cmp_ps_mask(value[g], border, _CMP_NLE_UQ);
                count[g] = _mm512_mask_add_epi32(count[g], above, count[g], one);
            }
        }
        for (int g = 0; g < GROUPS; ++g) widen(count[g], wide_shift, out + i + 16 * g);
    }
    for (; i < n; i += 16) {
        const __mmask16 active = lanes(n - i);
        const __m512 value = _mm512_maskz_loadu_ps(active, x + i);
        __m512i count = _mm512_setzero_si512();
        for (int64_t b = 0; b < n_borders; ++b) {
            const __mmask16 above = _mm512_cmp_ps_mask(value, _mm512_set1_ps(borders[b]), _CMP_NLE_UQ);
            count = _mm512_mask_add_epi32(count, above, count, one);
        }
        widen_some(count, wide_shift, out + i, active);
    }
}

}  // namespace

extern "C" int merge_bucketized_dense(const float* x, const float* borders, const int64_t* border_offsets, int64_t* out,
                                      int64_t F, int64_t N, int64_t) {
    const int64_t per_feature = (N + kChunk - 1) / kChunk;
#pragma omp parallel num_threads(KE_THREADS) if (F * N >= MIN_PARALLEL)
    {
#pragma omp for schedule(static)
        for (int64_t item = 0; item < F * per_feature; ++item) {
            const int64_t f = item / per_feature, begin = item % per_feature * kChunk;
            const int64_t first = border_offsets[f], at = f * N + begin;
            do_chunk(x + at, borders + first, border_offsets[f + 1] - first, first + f, out + at,
                     std::min<int64_t>(kChunk, N - begin));
        }
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    return 0;
}
