// recipe: interleaved_search
// family: map_id
// summary: branch-free binary searches of LANES values in lock step, so that their loads overlap
// knob LANES = 8 1 4 16 32
// knob MIN_PARALLEL = 8192 1024 65536
// order: 20
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

// The halving sequence depends on M alone: all lanes take the same steps and only data decides where they land.
static inline void search_block(const int64_t* v, const int64_t* table, int64_t* out, int64_t M) {
    int64_t at[LANES] = {};
    for (int64_t length = M; length > 1;) {
        const int64_t half = length / 2;
        for (int l = 0; l < LANES; ++l) at[l] += table[at[l] + half - 1] < v[l] ? half : 0;
        length -= half;
    }
    for (int l = 0; l < LANES; ++l) at[l] += table[at[l]] < v[l] && at[l] + 1 < M;
    for (int l = 0; l < LANES; ++l) out[l] = table[at[l]] == v[l] ? at[l] + 1 : 0;
}

extern "C" int map_id(const int64_t* v, const int64_t* table, int64_t* out, int64_t B, int64_t L, int64_t M) {
    const int64_t n = B * L;
    if (M == 0) {
        std::fill_n(out, n, int64_t{0});
        return 0;
    }
    const int64_t n_blocks = n / LANES;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (n >= MIN_PARALLEL)
    for (int64_t i = 0; i < n_blocks; ++i) search_block(v + i * LANES, table, out + i * LANES, M);
    const int64_t done = n_blocks * LANES;
    int64_t last_v[LANES] = {}, last_out[LANES];
    std::copy(v + done, v + n, last_v);
    search_block(last_v, table, last_out, M);
    std::copy(last_out, last_out + (n - done), out + done);
    return 0;
}
