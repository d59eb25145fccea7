// recipe: register_search_avx512
// family: merge_bucketized_dense
// summary: 16 borders sit in one register: binary search by lane permutation, no memory access
// isa: avx512f avx512dq
// knob GROUPS = 4 1 2 8
// knob STREAM_OUT = 0 1
// knob COUNT_BELOW = 0 3 6
// knob MIN_PARALLEL = 16384 2048 131072
// order: 50
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

constexpr int64_t kChunk = 4096;  // values of one feature that a thread takes at once

// 16 borders at a time, filled up with +inf. Each step halves what is left; then a NaN has come to the top and is
// brought down to the number of borders. "Not at most" instead of "above" is what sends NaN to the top.
struct Borders {
    const float* all;
    int64_t n;
    __m512 some;  // 16 of them
    __m512 top;   // the last of the 16
    __m512i n_some;
    explicit Borders(const float* borders, int64_t n_borders) : all(borders), n(n_borders) { take(0); }
    void take(int64_t from) {
        const int64_t left = std::clamp<int64_t>(n - from, 0, 16);
        const auto exists = static_cast<__mmask16>((1u << left) - 1);
        some = _mm512_mask_loadu_ps(_mm512_set1_ps(__builtin_inff()), exists, all + from);
        top = _mm512_permutexvar_ps(_mm512_set1_epi32(15), some);
        n_some = _mm512_set1_epi32(static_cast<int>(left));
    }
    __m512i count_some(__m512 value) const {
        __m512i at = _mm512_setzero_si512();
        for (int step = 8; step > 0; step /= 2) {
            const __m512i probe = _mm512_add_epi32(at, _mm512_set1_epi32(step - 1));
            const __mmask16 above = _mm512_cmp_ps_mask(value, _mm512_permutexvar_ps(probe, some), _CMP_NLE_UQ);
            at = _mm512_mask_add_epi32(at, above, at, _mm512_set1_epi32(step));
        }
        const __mmask16 above = _mm512_cmp_ps_mask(value, top, _CMP_NLE_UQ);
        return _mm512_min_epi32(_mm512_mask_add_epi32(at, above, at, _mm512_set1_epi32(1)), n_some);
    }
    __m512i count_few(__m512 value) const {
        __m512i at = _mm512_setzero_si512();
        for (int64_t b = 0; b < n; ++b) {
            const __mmask16 above = _mm512_cmp_ps_mask(value, _mm512_set1_ps(all[b]), _CMP_NLE_UQ);
            at = _mm512_mask_add_epi32(at, above, at, _mm512_set1_epi32(1));
        }
        return at;
    }
};

inline __m512i low_half(__m512i count, __m512i shift) {
    return _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(count)), shift);
}
inline __m512i high_half(__m512i count, __m512i shift) {
    return _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(count, 1)), shift);
}

template <bool kFew>
int64_t do_groups(const float* x, const Borders& borders, __m512i shift, int64_t* out, int64_t n) {
    int64_t i = 0;
    for (; i + 16 * GROUPS <= n; i += 16 * GROUPS)
#pragma GCC unroll 8
        for (int g = 0; g < GROUPS; ++g) {
            const __m512 value = _mm512_loadu_ps(x + i + 16 * g);
            const __m512i count = kFew ? borders.count_few(value) : borders.count_some(value);
            int64_t* to = out + i + 16 * g;
#if STREAM_OUT
            if (reinterpret_cast<uintptr_t>(to) % 64 == 0) {
                _mm512_stream_si512(reinterpret_cast<__m512i*>(to), low_half(count, shift));
                _mm512_stream_si512(reinterpret_cast<__m512i*>(to + 8), high_half(count, shift));
                continue;
            }
#endif
            _mm512_storeu_si512(to, low_half(count, shift));
            _mm512_storeu_si512(to + 8, high_half(count, shift));
        }
    return i;
}

void do_chunk(const float* x, Borders borders, int64_t shift_, int64_t* out, int64_t n) {
    const __m512i shift = _mm512_set1_epi64(shift_);
    int64_t i = 0;
    if (borders.n <= COUNT_BELOW) i = do_groups<true>(x, borders, shift, out, n);
    else if (borders.n <= 16) i = do_groups<false>(x, borders, shift, out, n);
    for (; i < n; i += 16) {
        const auto active = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1 << (n - i)) - 1);
        const __m512 value = _mm512_maskz_loadu_ps(active, x + i);
        __m512i count = borders.count_some(value);
        for (int64_t b = 16; b < borders.n; b += 16) {
            borders.take(b);
            count = _mm512_add_epi32(count, borders.count_some(value));
        }
        if (borders.n > 16) borders.take(0);
        _mm512_mask_storeu_epi64(out + i, static_cast<__mmask8>(active), low_half(count, shift));
        _mm512_mask_storeu_epi64(out + i + 8, static_cast<__mmask8>(active >> 8), high_half(count, shift));
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
            do_chunk(x + at, Borders(borders + first, border_offsets[f + 1] - first), first + f, out + at,
                     std::min<int64_t>(kChunk, N - begin));
        }
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    return 0;
}
