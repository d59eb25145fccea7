// recipe: pivot_blocks_avx512
// family: bucketize_torcharrow
// summary: 32 pivots in two registers pick a block of borders, compare and popcount finish: one memory access
// isa: avx512f
// knob WIDTH = 16 32
// knob GROUPS = 4 1 2 8
// knob MIN_PARALLEL = 8192 2048 65536
// order: 50
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <immintrin.h>
#include <limits>

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

// A value on a border that is stored twice goes between the two: it must count the first of them. So that one becomes
// the next smaller float, or NaN where there is none (nothing is at most NaN, so it is always counted).
void lower_twins(const float* borders, int64_t M, float* lowered) {
    const float infinity = std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < M; ++i) {
        const bool first = i + 1 < M && borders[i] == borders[i + 1] && (i == 0 || borders[i - 1] < borders[i]);
        lowered[i] = borders[i];
        if (first) lowered[i] = borders[i] == -infinity ? NAN : std::nextafter(borders[i], -infinity);
    }
}

constexpr int kMaxWidth = 64;  // more borders in a block: more levels would be needed, so search by halving

// Up to 33 blocks of `width` borders, filled up with +inf. The last borders of the first 32 sit in two registers.
struct Blocks {
    const float* borders;
    int64_t M, width;
    __m512 low, high;
};

Blocks arrange(const float* borders, int64_t M, float* into) {
    Blocks blocks{into, M, std::max<int64_t>(WIDTH, (M + 33 * 16 - 1) / (33 * 16) * 16), {}, {}};
    if (blocks.width > kMaxWidth) return blocks;
    std::copy(borders, borders + M, into);
    std::fill(into + M, into + 33 * blocks.width, INFINITY);
    float pivots[32];
    for (int j = 0; j < 32; ++j) pivots[j] = into[(j + 1) * blocks.width - 1];
    blocks.low = _mm512_loadu_ps(pivots);
    blocks.high = _mm512_loadu_ps(pivots + 16);
    return blocks;
}

// Pivots below each value: a binary search by lane permutation. NaN belongs above every border.
inline __m512i find_block(const Blocks& blocks, __m512 value) {
    __m512i at = _mm512_setzero_si512();
    for (int step = 16; step > 0; step /= 2) {
        const __m512i probe = _mm512_add_epi32(at, _mm512_set1_epi32(step - 1));
        const __m512 pivot = _mm512_permutex2var_ps(blocks.low, probe, blocks.high);
        at = _mm512_mask_add_epi32(at, _mm512_cmp_ps_mask(value, pivot, _CMP_NLE_UQ), at, _mm512_set1_epi32(step));
    }
    const __m512 last = _mm512_permutexvar_ps(_mm512_set1_epi32(15), blocks.high);
    return _mm512_mask_add_epi32(at, _mm512_cmp_ps_mask(value, last, _CMP_NLE_UQ), at, _mm512_set1_epi32(1));
}

template <int kWidth>
inline int32_t find_in_block(const Blocks& blocks, int64_t block, float value) {
    const float* some = blocks.borders + block * kWidth;
    int64_t below = block * kWidth;
    for (int j = 0; j < kWidth; j += 16) {
        const __mmask16 above = _mm512_cmp_ps_mask(_mm512_set1_ps(value), _mm512_load_ps(some + j), _CMP_NLE_UQ);
        int64_t count = __builtin_popcount(above);
        asm("" : "+r"(count));  // stay scalar: compilers would pack the counts of several values into vectors
        below += count;
    }
    return static_cast<int32_t>(below);
}

inline __m512i finish(__m512i count, __m512 value, int64_t M) {
    // NaN is below no border, but neither is it below the second one
    const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    return _mm512_mask_mov_epi32(count, is_nan, _mm512_set1_epi32(M > 1));
}

template <int kWidth>
inline void do_batch(const Blocks& blocks, const float* values, int32_t* out, int64_t n) {
    alignas(64) int32_t block[16 * GROUPS], count[16 * GROUPS];
    alignas(64) float value[16 * GROUPS];
    for (int64_t g = 0; g < n; g += 16) {
        const auto active = static_cast<__mmask16>(n - g >= 16 ? 0xffff : (1 << (n - g)) - 1);
        const __m512 some = _mm512_maskz_loadu_ps(active, values + g);
        _mm512_store_ps(value + g, some);
        _mm512_store_si512(block + g, find_block(blocks, some));
    }
    const int64_t n_rounded = (n + 15) / 16 * 16;
    for (int64_t i = 0; i < n_rounded; ++i) count[i] = find_in_block<kWidth>(blocks, block[i], value[i]);
    for (int64_t g = 0; g < n; g += 16) {
        const auto active = static_cast<__mmask16>(n - g >= 16 ? 0xffff : (1 << (n - g)) - 1);
        const __m512i result = finish(_mm512_load_si512(count + g), _mm512_load_ps(value + g), blocks.M);
        _mm512_mask_storeu_epi32(out + g, active, result);
    }
}

void do_batch_by_halving(const float* values, const float* borders, int64_t M, int32_t* out, int64_t n) {
    for (int64_t g = 0; g < n; g += 16) {
        const auto active = static_cast<__mmask16>(n - g >= 16 ? 0xffff : (1 << (n - g)) - 1);
        const __m512 value = _mm512_maskz_loadu_ps(active, values + g);
        __m512i at = _mm512_setzero_si512();
        for (int64_t length = M; length > 0;) {
            const int64_t half = (length + 1) / 2;
            const __m512 border =
                _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, at, borders + half - 1, 4);
            const __mmask16 above = _mm512_cmp_ps_mask(value, border, _CMP_NLE_UQ);
            at = _mm512_mask_add_epi32(at, above, at, _mm512_set1_epi32(static_cast<int>(half)));
            length -= half;
        }
        _mm512_mask_storeu_epi32(out + g, active, finish(at, value, M));
    }
}

void do_any(const Blocks& blocks, const float* borders, const float* values, int32_t* out, int64_t n) {
    switch (blocks.width) {
        case 16: return do_batch<16>(blocks, values, out, n);
        case 32: return do_batch<32>(blocks, values, out, n);
        case 48: return do_batch<48>(blocks, values, out, n);
        case 64: return do_batch<64>(blocks, values, out, n);
        default: return do_batch_by_halving(values, borders, blocks.M, out, n);
    }
}

}  // namespace

extern "C" int bucketize_torcharrow(const float* values, const float* borders, int32_t* out, int64_t N, int64_t M) {
    constexpr int64_t kMost = 33 * kMaxWidth, kBatch = 16 * GROUPS;
    float* arranged = scratch(static_cast<size_t>(kMost + M));
    if (arranged == nullptr) return 1;
    float* lowered = arranged + kMost;
    lower_twins(borders, M, lowered);
    const Blocks blocks = arrange(lowered, M, arranged);
    const int64_t n_batches = N / kBatch, done = n_batches * kBatch;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < n_batches; ++i) do_any(blocks, lowered, values + i * kBatch, out + i * kBatch, kBatch);
    do_any(blocks, lowered, values + done, out + done, N - done);
    return 0;
}
