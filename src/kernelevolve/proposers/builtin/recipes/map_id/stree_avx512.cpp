// recipe: stree_avx512
// family: map_id
// summary: 9-ary search tree over the table, one 64-byte node per step compared at once; LANES descents interleaved
// isa: avx512f
// knob LANES = 8 1 4 16
// knob STREAM_OUT = 0 1
// knob MIN_PARALLEL = 8192 1024 65536
// order: 50
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

constexpr int kMaxLevels = 24;

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

// Level 0 are the leaves: the table in nodes of 8. A node of level k+1 holds the last keys of 8 of its 9 children.
struct Tree {
    const int64_t* table;
    int64_t M;
    int n_levels;
    const int64_t* level[kMaxLevels];
};

bool build(Tree& tree) {
    int64_t n_nodes[kMaxLevels], total = 0;
    n_nodes[0] = (tree.M + 7) / 8;
    tree.n_levels = 1;
    while (n_nodes[tree.n_levels - 1] > 1) {
        n_nodes[tree.n_levels] = (n_nodes[tree.n_levels - 1] + 8) / 9;
        total += 8 * n_nodes[tree.n_levels++];
    }
    int64_t* next = scratch(static_cast<size_t>(total + 8));
    if (next == nullptr) return false;
    int64_t leaves_per_child = 1;
    tree.level[0] = tree.table;
    for (int k = 1; k < tree.n_levels; ++k) {
        tree.level[k] = next;
        for (int64_t node = 0; node < n_nodes[k]; ++node)
            for (int64_t j = 0; j < 8; ++j) {
                const int64_t last = (node * 9 + j + 1) * leaves_per_child * 8 - 1;
                *next++ = last < tree.M ? tree.table[last] : INT64_MAX;
            }
        leaves_per_child *= 9;
    }
    return true;
}

// The empty asm keeps a count in its scalar register: compilers would pack the lanes' counts into vectors to add them.
inline int64_t count_below(__m512i keys, __m512i wanted, __mmask8 exists) {
    int64_t count = __builtin_popcount(_mm512_mask_cmplt_epi64_mask(exists, keys, wanted));
    asm("" : "+r"(count));
    return count;
}

inline void look_up(const Tree& tree, const int64_t* v, int64_t* out) {
    int64_t node[LANES] = {};
    __m512i wanted[LANES];
    const int64_t largest = tree.table[tree.M - 1];
    for (int l = 0; l < LANES; ++l) wanted[l] = _mm512_set1_epi64(std::min(v[l], largest));
    for (int k = tree.n_levels - 1; k > 0; --k)
#pragma GCC unroll 16
        for (int l = 0; l < LANES; ++l) {
            const __m512i keys = _mm512_load_si512(tree.level[k] + 8 * node[l]);
            node[l] = 9 * node[l] + count_below(keys, wanted[l], 0xff);
        }
    for (int l = 0; l < LANES; ++l) {
        const int64_t first = 8 * node[l];
        const int64_t left = tree.M - first;
        const auto exists = static_cast<__mmask8>((1 << std::min<int64_t>(left, 8)) - 1);
        const __m512i keys = _mm512_maskz_loadu_epi64(exists, tree.table + first);
        const int64_t below = count_below(keys, wanted[l], exists);
        const int64_t found = _mm512_mask_cmpeq_epi64_mask(exists, keys, _mm512_set1_epi64(v[l])) != 0;
        const int64_t position = (first + below + 1) & -found;  // no branch: being known is hard to predict
#if STREAM_OUT
        _mm_stream_si64(reinterpret_cast<long long*>(out + l), position);
#else
        out[l] = position;
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
    Tree tree{table, M, 0, {}};
    if (!build(tree)) return 1;
    const int64_t n_blocks = n / LANES, done = n_blocks * LANES;
#pragma omp parallel num_threads(KE_THREADS) if (n >= MIN_PARALLEL)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n_blocks; ++i) look_up(tree, v + i * LANES, out + i * LANES);
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    int64_t last_v[LANES] = {}, last_out[LANES];
    std::copy(v + done, v + n, last_v);
    look_up(tree, last_v, last_out);
    std::copy(last_out, last_out + (n - done), out + done);
    return 0;
}
