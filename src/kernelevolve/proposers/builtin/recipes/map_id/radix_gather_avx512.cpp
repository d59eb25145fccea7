// recipe: radix_gather_avx512
// family: map_id
// summary: bucket index over the leading bits of v - table[0], read with AVX-512 gathers; UNROLL x 8 values in flight
// isa: avx512f avx512dq avx512vl
// knob BUCKETS_PER_KEY = 2 1 4 8
// knob UNROLL = 1 2 4 8
// knob FREE_STEPS = 1 0 2 3
// knob DIRECT_FACTOR = 8 0 2 32
// knob HARDWARE_GATHER = 1 0
// knob STREAM_OUT = 0 1
// knob MIN_PARALLEL = 8192 1024 65536
// order: 60
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <immintrin.h>
#include <omp.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

constexpr int kMaxScan = 6;  // a longer bucket means skewed keys: finish by halving

// Scratch keeps its pages between calls, never its content.
uint32_t* scratch(size_t n) {
    static thread_local uint32_t* block = nullptr;
    static thread_local size_t size = 0;
    if (n > size) {
        std::free(block);
        size = (n + 15) / 16 * 16;
        block = static_cast<uint32_t*>(std::aligned_alloc(64, size * sizeof(uint32_t)));
        if (block == nullptr) size = 0;
    }
    return block;
}

struct Index {
    const int64_t* table;
    uint32_t* start;  // direct: 1-based position, 0 absent. Otherwise first position of a bucket, empty: the last key's
    int64_t M, n_buckets;
    uint64_t low, range;
    int shift;
    bool direct;
    uint64_t bucket(int64_t key) const { return (static_cast<uint64_t>(key) - low) >> shift; }
};

// A gather merges into its target. Merging into zero, not into whatever a register held, keeps gathers independent.
inline __m512i gather_positions(const uint32_t* start, __m512i at) {
#if HARDWARE_GATHER
    return _mm512_cvtepu32_epi64(_mm512_mask_i64gather_epi32(_mm256_setzero_si256(), 0xff, at, start, 4));
#else
    alignas(64) uint64_t i[8];
    _mm512_store_si512(i, at);
    return _mm512_set_epi64(start[i[7]], start[i[6]], start[i[5]], start[i[4]], start[i[3]], start[i[2]], start[i[1]],
                            start[i[0]]);
#endif
}

inline __m512i gather_keys(const int64_t* table, __m512i at) {
#if HARDWARE_GATHER
    return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), 0xff, at, table, 8);
#else
    alignas(64) uint64_t i[8];
    _mm512_store_si512(i, at);
    return _mm512_set_epi64(table[i[7]], table[i[6]], table[i[5]], table[i[4]], table[i[3]], table[i[2]], table[i[1]],
                            table[i[0]]);
#endif
}

// Descending order lets the first key of a bucket win. A part leaves the bucket it shares with the part below alone.
void fill_part(const Index& index, int part, int n_parts) {
    const int64_t begin = index.M * part / n_parts, end = index.M * (part + 1) / n_parts;
    const bool shared = begin > 0 && begin < index.M;
    const uint64_t below = shared ? index.bucket(index.table[begin - 1]) : ~uint64_t{0};
    for (int64_t i = end - 1; i >= begin; --i) {
        const uint64_t b = index.bucket(index.table[i]);
        if (b == below) break;
        index.start[b] = static_cast<uint32_t>(i + index.direct);
    }
}

__m512i search_by_halving(const Index& index, __m512i v) {
    __m512i at = _mm512_setzero_si512();
    for (int64_t length = index.M; length > 1;) {
        const int64_t half = length / 2;
        const __m512i key = gather_keys(index.table + half - 1, at);
        at = _mm512_mask_add_epi64(at, _mm512_cmplt_epi64_mask(key, v), at, _mm512_set1_epi64(half));
        length -= half;
    }
    return at;
}

inline void put(int64_t* out, __m512i x) {
#if STREAM_OUT
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out), x);
#else
    _mm512_storeu_si512(out, x);
#endif
}

// `active` marks the values that exist; `whole` blocks store without a mask.
template <int kGroups, bool kWhole>
inline void look_up(const Index& index, const int64_t* v, int64_t* out, __mmask8 active) {
    const __m512i low = _mm512_set1_epi64(static_cast<int64_t>(index.low));
    const __m512i range = _mm512_set1_epi64(static_cast<int64_t>(index.range));
    const __m128i shift = _mm_cvtsi32_si128(index.shift);
    __m512i wanted[kGroups], at[kGroups], key[kGroups];
    __mmask8 inside[kGroups];
    for (int g = 0; g < kGroups; ++g) {
        wanted[g] = kWhole ? _mm512_loadu_si512(v + 8 * g) : _mm512_maskz_loadu_epi64(active, v + 8 * g);
        const __m512i from_low = _mm512_sub_epi64(wanted[g], low);
        inside[g] = _mm512_cmple_epu64_mask(from_low, range);
        at[g] = gather_positions(index.start, _mm512_srl_epi64(_mm512_min_epu64(from_low, range), shift));
    }
    for (int g = 0; g < kGroups; ++g) {
        __m512i position;
        if (index.direct) {
            position = _mm512_maskz_mov_epi64(inside[g], at[g]);
        } else {
            key[g] = gather_keys(index.table, at[g]);
            const __m512i one = _mm512_set1_epi64(1);
            __mmask8 below = _mm512_mask_cmplt_epi64_mask(inside[g], key[g], wanted[g]);
            // the first steps are taken without asking, as their number would be hard to predict
            for (int step = 0; step < FREE_STEPS || below != 0; ++step) {
                if (step == FREE_STEPS + kMaxScan) {
                    at[g] = _mm512_mask_mov_epi64(at[g], below, search_by_halving(index, wanted[g]));
                    key[g] = _mm512_mask_mov_epi64(key[g], below, gather_keys(index.table, at[g]));
                    break;
                }
                at[g] = _mm512_mask_add_epi64(at[g], below, at[g], one);
                key[g] = _mm512_mask_i64gather_epi64(key[g], below, at[g], index.table, 8);
                below = _mm512_mask_cmplt_epi64_mask(below, key[g], wanted[g]);
            }
            const __mmask8 equal = _mm512_mask_cmpeq_epi64_mask(inside[g], key[g], wanted[g]);
            position = _mm512_maskz_add_epi64(equal, at[g], one);
        }
        if (kWhole) put(out + 8 * g, position);
        else _mm512_mask_storeu_epi64(out + 8 * g, active, position);
    }
}

}  // namespace

extern "C" int map_id(const int64_t* v, const int64_t* table, int64_t* out, int64_t B, int64_t L, int64_t M) {
    const int64_t n = B * L;
    if (M == 0) {
        std::fill_n(out, n, int64_t{0});
        return 0;
    }
    Index index{table, nullptr, M, 0, static_cast<uint64_t>(table[0]), 0, 0, false};
    index.range = static_cast<uint64_t>(table[M - 1]) - index.low;
    const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(M) * BUCKETS_PER_KEY));
    index.direct = index.range <= static_cast<uint64_t>(M) * DIRECT_FACTOR;
    index.shift = index.direct ? 0 : std::max(0, static_cast<int>(std::bit_width(index.range)) - bits);
    index.n_buckets = static_cast<int64_t>(index.range >> index.shift) + 1;
    index.start = scratch(static_cast<size_t>(index.n_buckets));
    if (index.start == nullptr || M > INT32_MAX) return 1;
    // an empty bucket must name the FIRST of equal largest keys, or a scan could end on a later one
    const int64_t last = std::lower_bound(table, table + M, table[M - 1]) - table;
    const uint32_t absent = index.direct ? 0 : static_cast<uint32_t>(last);
    constexpr int64_t kBlock = 8 * UNROLL;
    const int64_t n_blocks = n / kBlock;
#pragma omp parallel num_threads(KE_THREADS) if (n + M >= MIN_PARALLEL)
    {
#pragma omp for schedule(static)
        for (int64_t b = 0; b < index.n_buckets; ++b) index.start[b] = absent;
        fill_part(index, omp_get_thread_num(), omp_get_num_threads());
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n_blocks; ++i) look_up<UNROLL, true>(index, v + i * kBlock, out + i * kBlock, 0xff);
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    for (int64_t i = n_blocks * kBlock; i < n; i += 8) {
        const auto active = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1 << (n - i)) - 1);
        look_up<1, false>(index, v + i, out + i, active);
    }
    return 0;
}
