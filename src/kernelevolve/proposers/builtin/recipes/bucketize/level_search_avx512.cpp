// recipe: level_search_avx512
// family: bucketize
// summary: binary search level by level, 16 values per register: four levels by lane permutation, the rest by gathers
// isa: avx512f
// knob GROUPS = 4 1 2 8
// knob STREAM_OUT = 0 1
// knob MIN_PARALLEL = 8192 2048 65536
// order: 40
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

// Scratch keeps its pages between calls, never its content.
float* scratch(size_t n) {
    static thread_local float* block = nullptr;
    static thread_local size_t size = 0;
    if (n > size) {
        std::free(block);
        size = (n + 15) / 16 * 16;
        block = static_cast<float*>(std::aligned_alloc(64, size * sizeof(float)));
        if (block == nullptr) size = 0;
    }
    return block;
}

constexpr int kMaxLevels = 18;

// Level k holds the 2^k borders that the k-th step of a binary search can look at, in order: a value that has reached
// part p of level k looks at its p-th border and goes on to part 2p or 2p+1. Missing borders are +inf.
struct Levels {
    int n = 0;
    const float* level[kMaxLevels];
    __m512 top[4];  // the first levels fit a register each
};

Levels arrange(const float* borders, int64_t M, float* into) {
    Levels levels;
    while ((int64_t{1} << levels.n) <= M) ++levels.n;
    for (int k = 0; k < levels.n; ++k) {
        levels.level[k] = into;
        const int64_t stride = int64_t{1} << (levels.n - k);
        for (int64_t part = 0; part < (int64_t{1} << k); ++part) {
            const int64_t at = part * stride + stride / 2 - 1;
            *into++ = at < M ? borders[at] : INFINITY;
        }
    }
    for (int k = 0; k < std::min(levels.n, 4); ++k)
        levels.top[k] = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << (1 << k)) - 1), levels.level[k]);
    return levels;
}

inline __m512i next_part(__m512i part, __m512 value, __m512 border) {
    const __mmask16 above = _mm512_cmp_ps_mask(value, border, _CMP_NLE_UQ);  // NaN belongs above every border
    const __m512i doubled = _mm512_add_epi32(part, part);
    return _mm512_mask_add_epi32(doubled, above, doubled, _mm512_set1_epi32(1));
}

template <int kGroups>
inline void search(const Levels& levels, const __m512* value, __m512i* part) {
    for (int g = 0; g < kGroups; ++g) part[g] = _mm512_setzero_si512();
    for (int k = 0; k < std::min(levels.n, 4); ++k)
        for (int g = 0; g < kGroups; ++g)
            part[g] = next_part(part[g], value[g], _mm512_permutexvar_ps(part[g], levels.top[k]));
    for (int k = 4; k < levels.n; ++k)
        for (int g = 0; g < kGroups; ++g) {
            // merging into zero, not into whatever a register held, keeps gathers independent
            const __m512 border = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, part[g], levels.level[k], 4);
            part[g] = next_part(part[g], value[g], border);
        }
}

inline __m512i finish(__m512i part, __m512, int64_t M) {
    return _mm512_min_epi32(part, _mm512_set1_epi32(static_cast<int>(M)));  // NaN has passed the missing borders too
}

}  // namespace

extern "C" int bucketize(const float* values, const float* borders, int32_t* out, int64_t N, int64_t M) {
    float* arranged = scratch(static_cast<size_t>(2 * M + 64));
    if (arranged == nullptr) return 1;
    const Levels levels = arrange(borders, M, arranged);
    constexpr int64_t kBlock = 16 * GROUPS;
    const int64_t n_blocks = N / kBlock;
#pragma omp parallel num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n_blocks; ++i) {
            __m512 value[GROUPS];
            __m512i part[GROUPS];
            for (int g = 0; g < GROUPS; ++g) value[g] = _mm512_loadu_ps(values + i * kBlock + 16 * g);
            search<GROUPS>(levels, value, part);
            for (int g = 0; g < GROUPS; ++g) {
                int32_t* to = out + i * kBlock + 16 * g;
#if STREAM_OUT
                if (reinterpret_cast<uintptr_t>(to) % 64 == 0) {
                    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), finish(part[g], value[g], M));
                    continue;
                }
#endif
                _mm512_storeu_si512(to, finish(part[g], value[g], M));
            }
        }
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    for (int64_t i = n_blocks * kBlock; i < N; i += 16) {
        const auto active = static_cast<__mmask16>(N - i >= 16 ? 0xffff : (1 << (N - i)) - 1);
        const __m512 value = _mm512_maskz_loadu_ps(active, values + i);
        __m512i part;
        search<1>(levels, &value, &part);
        _mm512_mask_storeu_epi32(out + i, active, finish(part, value, M));
    }
    return 0;
}
