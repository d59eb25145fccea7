// recipe: hash_gather_avx512
// family: map_id
// summary: open-addressing hash table of 32-bit positions, probed 8 values at a time with AVX-512 gathers
// isa: avx512f avx512dq avx512vl
// knob SLOTS_PER_KEY = 8 2 4
// knob UNROLL = 4 1 2 8
// knob STREAM_OUT = 0 1
// knob MIN_PARALLEL = 8192 1024 65536
// order: 65
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

// A gather merges into its target. Merging into zero, not into whatever a register held, keeps gathers independent.
inline __m512i gather(const void* base, __m512i at) {
    return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), 0xff, at, base, 8);
}
inline __m512i gather_narrow(const void* base, __m512i at) {
    return _mm512_cvtepu32_epi64(_mm512_mask_i64gather_epi32(_mm256_setzero_si256(), 0xff, at, base, 4));
}

constexpr int kMaxProbes = 64;  // a longer chain means the hash fails on this table: search by halving instead
constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u;

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
    uint32_t* slots;  // probing goes on past the last home slot into kMaxProbes spare ones: no wrap-around
    int64_t M, n_slots;
    int shift;
    uint32_t empty;  // position of the largest key, which stays out of the slots: an empty slot still answers for it
    uint64_t home(int64_t key) const {
        const uint64_t x = static_cast<uint64_t>(key);
        return ((x ^ (x >> 32)) * kMultiplier) >> shift;
    }
};

// Each part inserts the keys whose home lies in its share of the slots; what runs over the end of the share is left.
// Returns the number of keys left, to be inserted by one thread afterwards.
bool insert(const Index& index, uint32_t i, int64_t limit) {
    int64_t at = static_cast<int64_t>(index.home(index.table[i]));
    const int64_t last = std::min(limit, at + kMaxProbes);
    while (at < last && index.slots[at] != index.empty) ++at;
    if (at >= last) return false;
    index.slots[at] = i;
    return true;
}

bool insert_share(const Index& index, int64_t begin, int64_t end) {
    for (uint32_t i = 0; i < index.empty; ++i) {
        const auto at = static_cast<int64_t>(index.home(index.table[i]));
        if (at < begin || at >= end || (i > 0 && index.table[i] == index.table[i - 1])) continue;
        if (!insert(index, i, end == index.n_slots ? end + kMaxProbes : end)) return false;
    }
    return true;
}

bool insert_all(const Index& index) {
    std::fill_n(index.slots, index.n_slots + kMaxProbes, index.empty);
    for (uint32_t i = 0; i < index.empty; ++i) {
        if (i > 0 && index.table[i] == index.table[i - 1]) continue;
        if (!insert(index, i, index.n_slots + kMaxProbes)) return false;
    }
    return true;
}

inline __m512i by_halving(const Index& index, __m512i v) {
    __m512i at = _mm512_setzero_si512();
    for (int64_t length = index.M; length > 1;) {
        const int64_t half = length / 2;
        const __m512i key = gather(index.table + half - 1, at);
        at = _mm512_mask_add_epi64(at, _mm512_cmplt_epi64_mask(key, v), at, _mm512_set1_epi64(half));
        length -= half;
    }
    const __mmask8 found = _mm512_cmpeq_epi64_mask(gather(index.table, at), v);
    return _mm512_maskz_add_epi64(found, at, _mm512_set1_epi64(1));
}

template <int kGroups>
inline void by_hash(const Index& index, const __m512i* v, __m512i* position) {
    const __m512i one = _mm512_set1_epi64(1), empty = _mm512_set1_epi64(index.empty);
    const __m128i shift = _mm_cvtsi32_si128(index.shift);
    __m512i at[kGroups], entry[kGroups], key[kGroups];
    for (int g = 0; g < kGroups; ++g) {
        const __m512i mixed = _mm512_xor_si512(v[g], _mm512_srli_epi64(v[g], 32));
        const __m512i product = _mm512_mullo_epi64(mixed, _mm512_set1_epi64(static_cast<int64_t>(kMultiplier)));
        at[g] = _mm512_srl_epi64(product, shift);
        entry[g] = gather_narrow(index.slots, at[g]);
    }
    for (int g = 0; g < kGroups; ++g) key[g] = gather(index.table, entry[g]);
    for (int g = 0; g < kGroups; ++g) {
        __mmask8 differs = _mm512_cmpneq_epi64_mask(key[g], v[g]);
        for (__mmask8 go_on = differs & _mm512_cmpneq_epi64_mask(entry[g], empty); go_on != 0;) {
            at[g] = _mm512_mask_add_epi64(at[g], go_on, at[g], one);
            const __m256i old = _mm512_cvtepi64_epi32(entry[g]);
            entry[g] = _mm512_cvtepu32_epi64(_mm512_mask_i64gather_epi32(old, go_on, at[g], index.slots, 4));
            key[g] = _mm512_mask_i64gather_epi64(key[g], go_on, entry[g], index.table, 8);
            differs = _mm512_cmpneq_epi64_mask(key[g], v[g]);
            go_on = differs & _mm512_cmpneq_epi64_mask(entry[g], empty);
        }
        position[g] = _mm512_maskz_add_epi64(static_cast<__mmask8>(~differs), entry[g], one);
    }
}

void look_up_all(const Index& index, bool hashed, const int64_t* v, int64_t* out, int64_t begin, int64_t end) {
    constexpr int64_t kBlock = 8 * UNROLL;
    __m512i wanted[UNROLL], position[UNROLL];
    int64_t i = begin;
    for (; i + kBlock <= end; i += kBlock) {
        for (int g = 0; g < UNROLL; ++g) wanted[g] = _mm512_loadu_si512(v + i + 8 * g);
        if (hashed) by_hash<UNROLL>(index, wanted, position);
        else
            for (int g = 0; g < UNROLL; ++g) position[g] = by_halving(index, wanted[g]);
        for (int g = 0; g < UNROLL; ++g) {
#if STREAM_OUT
            _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i + 8 * g), position[g]);
#else
            _mm512_storeu_si512(out + i + 8 * g, position[g]);
#endif
        }
    }
    for (; i < end; i += 8) {
        const auto active = static_cast<__mmask8>(end - i >= 8 ? 0xff : (1 << (end - i)) - 1);
        wanted[0] = _mm512_maskz_loadu_epi64(active, v + i);
        if (hashed) by_hash<1>(index, wanted, position);
        else position[0] = by_halving(index, wanted[0]);
        _mm512_mask_storeu_epi64(out + i, active, position[0]);
    }
}

}  // namespace

extern "C" int map_id(const int64_t* v, const int64_t* table, int64_t* out, int64_t B, int64_t L, int64_t M) {
    const int64_t n = B * L;
    if (M == 0) {
        std::fill_n(out, n, int64_t{0});
        return 0;
    }
    if (M > INT32_MAX) return 1;
    const int bits = std::max(4, static_cast<int>(std::bit_width(static_cast<uint64_t>(M) * SLOTS_PER_KEY - 1)));
    Index index{table, scratch((size_t{1} << bits) + kMaxProbes), M, int64_t{1} << bits, 64 - bits, 0};
    if (index.slots == nullptr) return 1;
    index.empty = static_cast<uint32_t>(std::lower_bound(table, table + M, table[M - 1]) - table);
    bool hashed = true;
#pragma omp parallel num_threads(KE_THREADS) if (n + M >= MIN_PARALLEL) reduction(&& : hashed)
    {
        const int64_t part = omp_get_thread_num(), n_parts = omp_get_num_threads();
        const int64_t begin = index.n_slots * part / n_parts, end = index.n_slots * (part + 1) / n_parts;
        std::fill(index.slots + begin, index.slots + end + (part + 1 == n_parts ? kMaxProbes : 0), index.empty);
#pragma omp barrier
        hashed = insert_share(index, begin, end);
    }
    if (!hashed) hashed = insert_all(index);  // a chain crossed from one share into the next: one thread does it all
#pragma omp parallel num_threads(KE_THREADS) if (n >= MIN_PARALLEL)
    {
        const int64_t part = omp_get_thread_num(), n_parts = omp_get_num_threads();
        const int64_t begin = n / 8 * part / n_parts * 8;
        look_up_all(index, hashed, v, out, begin, part + 1 == n_parts ? n : n / 8 * (part + 1) / n_parts * 8);
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    return 0;
}
