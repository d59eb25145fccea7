// recipe: hash_probe
// family: map_id
// summary: open-addressing hash table of 32-bit table positions, rebuilt per call; LANES values probed in phases
// knob SLOTS_PER_KEY = 4 2 8
// knob LANES = 16 4 8 32 64
// knob MIN_PARALLEL = 8192 1024 65536
// order: 30
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

constexpr int kMaxProbes = 64;  // a longer chain means the hash fails on this table: search by halving instead

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
    uint32_t* slots;
    int64_t M;
    uint32_t mask;
    int shift;
    uint32_t empty;  // position of the largest key, which stays out of the slots: an empty slot still answers for it
    uint32_t home(int64_t key) const {
        uint64_t x = static_cast<uint64_t>(key);
        x ^= x >> 32;
        return static_cast<uint32_t>((x * 0x9e3779b97f4a7c15u) >> shift);
    }
};

bool insert_all(const Index& index) {
    std::fill_n(index.slots, size_t{index.mask} + 1, index.empty);
    for (uint32_t i = 0; i < index.empty; ++i) {
        if (i > 0 && index.table[i] == index.table[i - 1]) continue;
        uint32_t at = index.home(index.table[i]);
        for (int probes = 0; index.slots[at] != index.empty; at = (at + 1) & index.mask)
            if (++probes == kMaxProbes) return false;
        index.slots[at] = i;
    }
    return true;
}

void look_up(const Index& index, const int64_t* v, int64_t* out) {
    uint32_t at[LANES], found[LANES];
    for (int l = 0; l < LANES; ++l) at[l] = index.home(v[l]);
    for (int l = 0; l < LANES; ++l) found[l] = index.slots[at[l]];
    for (int l = 0; l < LANES; ++l) {
        while (index.table[found[l]] != v[l] && found[l] != index.empty) {
            at[l] = (at[l] + 1) & index.mask;
            found[l] = index.slots[at[l]];
        }
        out[l] = index.table[found[l]] == v[l] ? int64_t{found[l]} + 1 : 0;
    }
}

void search_all(const int64_t* v, const int64_t* table, int64_t* out, int64_t n, int64_t M) {
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (n >= MIN_PARALLEL)
    for (int64_t i = 0; i < n; ++i) {
        const int64_t* hit = std::lower_bound(table, table + M, v[i]);
        out[i] = hit != table + M && *hit == v[i] ? hit - table + 1 : 0;
    }
}

}  // namespace

extern "C" int map_id(const int64_t* v, const int64_t* table, int64_t* out, int64_t B, int64_t L, int64_t M) {
    const int64_t n = B * L;
    if (M == 0) {
        std::fill_n(out, n, int64_t{0});
        return 0;
    }
    const int bits = std::max(4, static_cast<int>(std::bit_width(static_cast<uint64_t>(M) * SLOTS_PER_KEY - 1)));
    Index index{table, nullptr, M, static_cast<uint32_t>((1ull << bits) - 1), 64 - bits, 0};
    index.empty = static_cast<uint32_t>(std::lower_bound(table, table + M, table[M - 1]) - table);
    index.slots = bits < 32 ? scratch(size_t{1} << bits) : nullptr;
    if (index.slots == nullptr || !insert_all(index)) {
        search_all(v, table, out, n, M);
        return 0;
    }
    const int64_t n_blocks = n / LANES, done = n_blocks * LANES;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (n >= MIN_PARALLEL)
    for (int64_t i = 0; i < n_blocks; ++i) look_up(index, v + i * LANES, out + i * LANES);
    int64_t last_v[LANES] = {}, last_out[LANES];
    std::copy(v + done, v + n, last_v);
    look_up(index, last_v, last_out);
    std::copy(last_out, last_out + (n - done), out + done);
    return 0;
}
