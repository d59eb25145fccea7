// recipe: radix_index
// family: map_id
// summary: the leading bits of v - table[0] index the first table position of a bucket; short forward scan from there
// knob BUCKETS_PER_KEY = 4 1 2 8
// knob LANES = 16 8 32 64
// knob FREE_STEPS = 1 0 2 3
// knob MIN_PARALLEL = 8192 1024 65536
// order: 40
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <omp.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

constexpr int kMaxScan = 8;  // a longer bucket means skewed keys: finish by halving

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
    uint32_t* start;  // first position of a bucket; an empty bucket names the last key, which ends every scan
    int64_t M, n_buckets;
    uint64_t low, range;
    int shift;
    uint64_t bucket(int64_t key) const { return (static_cast<uint64_t>(key) - low) >> shift; }
};

// Descending order lets the first key of a bucket win. A part leaves the bucket it shares with the part below alone.
void fill_part(const Index& index, int part, int n_parts) {
    const int64_t begin = index.M * part / n_parts, end = index.M * (part + 1) / n_parts;
    const bool shared = begin > 0 && begin < index.M;
    const uint64_t below = shared ? index.bucket(index.table[begin - 1]) : ~uint64_t{0};
    for (int64_t i = end - 1; i >= begin; --i) {
        const uint64_t b = index.bucket(index.table[i]);
        if (b == below) break;
        index.start[b] = static_cast<uint32_t>(i);
    }
}

void look_up(const Index& index, const int64_t* v, int64_t* out) {
    int64_t wanted[LANES];
    uint32_t at[LANES];
    const int64_t last = index.table[index.M - 1];
    for (int l = 0; l < LANES; ++l)
        wanted[l] = static_cast<uint64_t>(v[l]) - index.low <= index.range ? v[l] : last;
    for (int l = 0; l < LANES; ++l) at[l] = index.start[index.bucket(wanted[l])];
    for (int step = 0; step < FREE_STEPS; ++step)
        for (int l = 0; l < LANES; ++l) at[l] += index.table[at[l]] < wanted[l];
    for (int l = 0; l < LANES; ++l) {
        for (int step = 0; index.table[at[l]] < wanted[l]; ++at[l])
            if (++step == kMaxScan) {
                const int64_t* hit = std::lower_bound(index.table + at[l], index.table + index.M - 1, wanted[l]);
                at[l] = static_cast<uint32_t>(hit - index.table);
                break;
            }
    }
    for (int l = 0; l < LANES; ++l) out[l] = index.table[at[l]] == v[l] ? int64_t{at[l]} + 1 : 0;
}

}  // namespace

extern "C" int map_id(const int64_t* v, const int64_t* table, int64_t* out, int64_t B, int64_t L, int64_t M) {
    const int64_t n = B * L;
    if (M == 0) {
        std::fill_n(out, n, int64_t{0});
        return 0;
    }
    Index index{table, nullptr, M, 0, static_cast<uint64_t>(table[0]), 0, 0};
    index.range = static_cast<uint64_t>(table[M - 1]) - index.low;
    const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(M) * BUCKETS_PER_KEY));
    index.shift = std::max(0, static_cast<int>(std::bit_width(index.range)) - bits);
    index.n_buckets = static_cast<int64_t>(index.range >> index.shift) + 1;
    index.start = scratch(static_cast<size_t>(index.n_buckets));
    if (index.start == nullptr || M > INT32_MAX) return 1;
    // an empty bucket must name the FIRST of equal largest keys, or a scan could end on a later one
    const auto last = static_cast<uint32_t>(std::lower_bound(table, table + M, table[M - 1]) - table);
    const int64_t n_blocks = n / LANES, done = n_blocks * LANES;
#pragma omp parallel num_threads(KE_THREADS) if (n + M >= MIN_PARALLEL)
    {
#pragma omp for schedule(static)
        for (int64_t b = 0; b < index.n_buckets; ++b) index.start[b] = last;
        fill_part(index, omp_get_thread_num(), omp_get_num_threads());
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n_blocks; ++i) look_up(index, v + i * LANES, out + i * LANES);
    }
    int64_t last_v[LANES], last_out[LANES];
    std::fill_n(last_v, LANES, table[0]);
    std::copy(v + done, v + n, last_v);
    look_up(index, last_v, last_out);
    std::copy(last_out, last_out + (n - done), out + done);
    return 0;
}
