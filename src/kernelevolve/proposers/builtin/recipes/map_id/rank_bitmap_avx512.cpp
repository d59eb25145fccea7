// recipe: rank_bitmap_avx512
// family: map_id
// summary: where the keys span a small range: a bitmap with running counts, position = count + popcount; else halving
// isa: avx512f avx512dq avx512vl avx512_vpopcntdq
// knob UNROLL = 2 1 4
// knob MAX_BITS_PER_KEY = 256 64 1024 4096
// knob STREAM_OUT = 0 1
// knob MIN_PARALLEL = 8192 1024 65536
// order: 70
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

// A gather merges into its target. Merging into zero, not into whatever a register held, keeps gathers independent.
inline __m512i gather(const void* base, __m512i at) {
    return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), 0xff, at, base, 8);
}

// Scratch keeps its pages between calls, never its content.
uint64_t* scratch(size_t n) {
    static thread_local uint64_t* block = nullptr;
    static thread_local size_t size = 0;
    if (n > size) {
        std::free(block);
        size = (n + 7) / 8 * 8;
        block = static_cast<uint64_t*>(std::aligned_alloc(64, size * sizeof(uint64_t)));
        if (block == nullptr) size = 0;
    }
    return block;
}

struct Index {
    const int64_t* table;
    int64_t M;
    uint64_t low, range;
    bool usable;             // keys span few enough bits for the bitmap
    bool repeats;            // rank counts distinct keys: then `first` translates it to a position
    const uint64_t* words;   // pairs: 64 presence bits, number of distinct keys before them
    const uint64_t* first;   // 1-based position of the k-th distinct key, in front of it a 0
};

bool build(Index& index) {
    index.range = static_cast<uint64_t>(index.table[index.M - 1]) - index.low;
    index.usable = index.range / MAX_BITS_PER_KEY < static_cast<uint64_t>(index.M);
    if (!index.usable) return true;
    const size_t n_words = index.range / 64 + 1;
    uint64_t* words = scratch(2 * n_words + static_cast<size_t>(index.M) + 1);
    if (words == nullptr) return false;
    uint64_t* first = words + 2 * n_words;
    std::fill_n(words, 2 * n_words, uint64_t{0});
    uint64_t n_distinct = 0;
    first[0] = 0;
    for (int64_t i = 0; i < index.M; ++i) {
        const uint64_t at = static_cast<uint64_t>(index.table[i]) - index.low;
        words[2 * (at / 64)] |= uint64_t{1} << (at % 64);
        n_distinct += i == 0 || index.table[i] != index.table[i - 1];
        if (i == 0 || index.table[i] != index.table[i - 1]) first[n_distinct] = static_cast<uint64_t>(i) + 1;
    }
    for (size_t w = 0, before = 0; w < n_words; ++w) {
        words[2 * w + 1] = before;
        before += static_cast<size_t>(std::popcount(words[2 * w]));
    }
    index.repeats = n_distinct != static_cast<uint64_t>(index.M);
    index.words = words;
    index.first = first;
    return true;
}

inline __m512i by_rank(const Index& index, __m512i v) {
    const __m512i one = _mm512_set1_epi64(1);
    const __m512i at = _mm512_sub_epi64(v, _mm512_set1_epi64(static_cast<int64_t>(index.low)));
    const __m512i range = _mm512_set1_epi64(static_cast<int64_t>(index.range));
    const __mmask8 inside = _mm512_cmple_epu64_mask(at, range);
    const __m512i word = _mm512_slli_epi64(_mm512_srli_epi64(_mm512_min_epu64(at, range), 6), 1);
    const __m512i bits = gather(index.words, word);
    const __m512i before = gather(index.words + 1, word);
    const __m512i own = _mm512_sllv_epi64(one, _mm512_and_si512(at, _mm512_set1_epi64(63)));
    const __mmask8 found = _mm512_mask_test_epi64_mask(inside, bits, own);
    const __m512i below = _mm512_popcnt_epi64(_mm512_and_si512(bits, _mm512_sub_epi64(own, one)));
    const __m512i rank = _mm512_maskz_add_epi64(found, _mm512_add_epi64(before, below), one);
    return index.repeats ? gather(index.first, rank) : rank;
}

template <int kGroups>
inline void by_halving(const Index& index, const __m512i* v, __m512i* position) {
    __m512i at[kGroups];
    for (int g = 0; g < kGroups; ++g) at[g] = _mm512_setzero_si512();
    for (int64_t length = index.M; length > 1;) {
        const int64_t half = length / 2;
        for (int g = 0; g < kGroups; ++g) {
            const __mmask8 below = _mm512_cmplt_epi64_mask(gather(index.table + half - 1, at[g]), v[g]);
            at[g] = _mm512_mask_add_epi64(at[g], below, at[g], _mm512_set1_epi64(half));
        }
        length -= half;
    }
    for (int g = 0; g < kGroups; ++g) {
        const __mmask8 found = _mm512_cmpeq_epi64_mask(gather(index.table, at[g]), v[g]);
        position[g] = _mm512_maskz_add_epi64(found, at[g], _mm512_set1_epi64(1));
    }
}

}  // namespace

extern "C" int map_id(const int64_t* v, const int64_t* table, int64_t* out, int64_t B, int64_t L, int64_t M) {
    const int64_t n = B * L;
    if (M == 0) {
        std::fill_n(out, n, int64_t{0});
        return 0;
    }
    Index index{table, M, static_cast<uint64_t>(table[0]), 0, false, false, nullptr, nullptr};
    if (!build(index)) return 1;
    constexpr int64_t kBlock = 8 * UNROLL;
    const int64_t n_blocks = n / kBlock;
#pragma omp parallel num_threads(KE_THREADS) if (n >= MIN_PARALLEL)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n_blocks; ++i) {
            __m512i wanted[UNROLL], position[UNROLL];
            for (int g = 0; g < UNROLL; ++g) wanted[g] = _mm512_loadu_si512(v + i * kBlock + 8 * g);
            if (index.usable)
                for (int g = 0; g < UNROLL; ++g) position[g] = by_rank(index, wanted[g]);
            else
                by_halving<UNROLL>(index, wanted, position);
            for (int g = 0; g < UNROLL; ++g) {
#if STREAM_OUT
                _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i * kBlock + 8 * g), position[g]);
#else
                _mm512_storeu_si512(out + i * kBlock + 8 * g, position[g]);
#endif
            }
        }
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    for (int64_t i = n_blocks * kBlock; i < n; i += 8) {
        const auto active = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1 << (n - i)) - 1);
        const __m512i wanted = _mm512_maskz_loadu_epi64(active, v + i);
        __m512i position;
        if (index.usable) position = by_rank(index, wanted);
        else by_halving<1>(index, &wanted, &position);
        _mm512_mask_storeu_epi64(out + i, active, position);
    }
    return 0;
}
