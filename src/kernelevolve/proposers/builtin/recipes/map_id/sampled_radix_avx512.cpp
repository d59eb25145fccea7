// recipe: sampled_radix_avx512
// family: map_id
// summary: cheap bucket index over every BLOCK-th key only, then one block of the table is compared at once
// isa: avx512f avx512dq avx512vl
// knob BLOCK = 16 8 32
// knob BUCKETS_PER_SAMPLE = 2 1 4 8
// knob UNROLL = 4 1 2 8
// knob FREE_STEPS = 1 0 2
// knob PREFETCH = 1 0
// knob STREAM_OUT = 0 1
// knob MIN_PARALLEL = 8192 1024 65536
// order: 80
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
inline __m512i gather_narrow(const void* base, __m512i at) {
    return _mm512_cvtepu32_epi64(_mm512_mask_i64gather_epi32(_mm256_setzero_si256(), 0xff, at, base, 4));
}

constexpr int kMaxScan = 6;  // a longer bucket means skewed keys: finish by halving

// Scratch keeps its pages between calls, never its content.
int64_t* scratch(size_t n) {
    static thread_local int64_t* block = nullptr;
    static thread_local size_t size = 0;
    if (n > size) {
        std::free(block);
        size = (n + 7) / 8 * 8;
        block = static_cast<int64_t*>(std::aligned_alloc(64, size * sizeof(int64_t)));
        if (block == nullptr) size = 0;
    }
    return block;
}

struct Index {
    const int64_t* table;
    int64_t M, n_samples;
    uint64_t low, range;
    int shift;
    int64_t* sample;   // every BLOCK-th key, then INT64_MAX, which ends every scan
    int64_t* last;     // the last block, filled up with INT64_MAX
    uint32_t* start;   // samples in earlier buckets
    uint64_t bucket(int64_t key) const { return (static_cast<uint64_t>(key) - low) >> shift; }
};

bool build(Index& index) {
    index.n_samples = (index.M + BLOCK - 1) / BLOCK;
    index.range = static_cast<uint64_t>(index.table[index.M - 1]) - index.low;
    const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(index.n_samples) * BUCKETS_PER_SAMPLE));
    index.shift = std::max(0, static_cast<int>(std::bit_width(index.range)) - bits);
    const int64_t n_buckets = static_cast<int64_t>(index.range >> index.shift) + 1;
    index.last = scratch(static_cast<size_t>(BLOCK + index.n_samples + 1 + n_buckets / 2 + 1));
    if (index.last == nullptr) return false;
    index.sample = index.last + BLOCK;
    index.start = reinterpret_cast<uint32_t*>(index.sample + index.n_samples + 1);
    const int64_t tail = (index.n_samples - 1) * BLOCK;
    for (int64_t j = 0; j < BLOCK; ++j) index.last[j] = tail + j < index.M ? index.table[tail + j] : INT64_MAX;
    for (int64_t j = 0; j < index.n_samples; ++j) index.sample[j] = index.table[j * BLOCK];
    index.sample[index.n_samples] = INT64_MAX;
    std::fill_n(index.start, n_buckets, static_cast<uint32_t>(index.n_samples));
    for (int64_t j = index.n_samples - 1; j >= 0; --j)
        index.start[index.bucket(index.sample[j])] = static_cast<uint32_t>(j);
    for (int64_t b = n_buckets - 2; b >= 0; --b) index.start[b] = std::min(index.start[b], index.start[b + 1]);
    return true;
}

// Number of samples below each value; `wanted` lies between the first and the last key.
inline __m512i count_samples(const Index& index, __m512i wanted) {
    const __m512i one = _mm512_set1_epi64(1), low = _mm512_set1_epi64(static_cast<int64_t>(index.low));
    const __m512i bucket = _mm512_srl_epi64(_mm512_sub_epi64(wanted, low), _mm_cvtsi32_si128(index.shift));
    __m512i count = gather_narrow(index.start, bucket);
    __mmask8 below = _mm512_cmplt_epi64_mask(gather(index.sample, count), wanted);
    // the first steps are taken without asking, as their number would be hard to predict
    for (int step = 0; step < FREE_STEPS || below != 0; ++step) {
        if (step == FREE_STEPS + kMaxScan) {
            __m512i at = _mm512_setzero_si512();
            for (int64_t length = index.n_samples + 1; length > 1;) {
                const int64_t half = length / 2;
                const __m512i key = gather(index.sample + half - 1, at);
                at = _mm512_mask_add_epi64(at, _mm512_cmplt_epi64_mask(key, wanted), at, _mm512_set1_epi64(half));
                length -= half;
            }
            return _mm512_mask_mov_epi64(count, below, at);
        }
        count = _mm512_mask_add_epi64(count, below, count, one);
        const __m512i key = _mm512_mask_i64gather_epi64(wanted, below, count, index.sample, 8);
        below = _mm512_mask_cmplt_epi64_mask(below, key, wanted);
    }
    return count;
}

// The first key that is not below v is in the block of the last sample below v, or it is the next sample itself.
inline int64_t in_block(const Index& index, int64_t count, int64_t v) {
    const int64_t block = std::max<int64_t>(count - 1, 0);
    const int64_t* keys = block == index.n_samples - 1 ? index.last : index.table + block * BLOCK;
    const __m512i wanted = _mm512_set1_epi64(v);
    int64_t below = 0;
    for (int j = 0; j < BLOCK; j += 8) {
        int64_t count = __builtin_popcount(_mm512_cmplt_epi64_mask(_mm512_loadu_si512(keys + j), wanted));
        asm("" : "+r"(count));  // stay scalar: compilers would pack the counts of several values into vectors
        below += count;
    }
    const int64_t at = std::min(block * BLOCK + below, index.M - 1);
    return (at + 1) & -static_cast<int64_t>(index.table[at] == v);  // no branch: being known is hard to predict
}

inline void look_up(const Index& index, const int64_t* v, int64_t* out) {
    alignas(64) int64_t count[8 * UNROLL], position[8 * UNROLL];
    const __m512i first = _mm512_set1_epi64(index.table[0]), last = _mm512_set1_epi64(index.table[index.M - 1]);
    for (int g = 0; g < UNROLL; ++g) {
        const __m512i wanted = _mm512_max_epi64(_mm512_min_epi64(_mm512_loadu_si512(v + 8 * g), last), first);
        _mm512_store_si512(count + 8 * g, count_samples(index, wanted));
#if PREFETCH
        for (int l = 8 * g; l < 8 * g + 8; ++l)
            for (int j = 0; j < BLOCK; j += 8)
                __builtin_prefetch(index.table + std::max<int64_t>(count[l] - 1, 0) * BLOCK + j);
#endif
    }
    for (int l = 0; l < 8 * UNROLL; ++l) position[l] = in_block(index, count[l], v[l]);
    for (int g = 0; g < UNROLL; ++g) {
#if STREAM_OUT
        _mm512_stream_si512(reinterpret_cast<__m512i*>(out + 8 * g), _mm512_load_si512(position + 8 * g));
#else
        _mm512_storeu_si512(out + 8 * g, _mm512_load_si512(position + 8 * g));
#endif
    }
}

}  // namespace

extern "C" int map_id(const int64_t* v, const int64_t* table, int64_t* out, int64_t B, int64_t L, int64_t M) {
    const int64_t n = B * L;
    if (M == 0) {
        std::fill_n(out, n, int64_t{0});
        return 0;
    }
    Index index{table, M, 0, static_cast<uint64_t>(table[0]), 0, 0, nullptr, nullptr, nullptr};
    if (M > INT32_MAX || !build(index)) return 1;
    constexpr int64_t kBatch = 8 * UNROLL;
    const int64_t n_batches = n / kBatch, done = n_batches * kBatch;
#pragma omp parallel num_threads(KE_THREADS) if (n >= MIN_PARALLEL)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n_batches; ++i) look_up(index, v + i * kBatch, out + i * kBatch);
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    int64_t last_v[kBatch] = {};
    alignas(64) int64_t last_out[kBatch];
    std::copy(v + done, v + n, last_v);
    look_up(index, last_v, last_out);
    std::copy(last_out, last_out + (n - done), out + done);
    return 0;
}
