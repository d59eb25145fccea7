// recipe: scalar_search
// family: map_id
// summary: one std::lower_bound per value
// knob MIN_PARALLEL = 8192 1024 65536
// order: 10
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int map_id(const int64_t* v, const int64_t* table, int64_t* out, int64_t B, int64_t L, int64_t M) {
    const int64_t n = B * L;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (n >= MIN_PARALLEL)
    for (int64_t i = 0; i < n; ++i) {
        const int64_t* hit = std::lower_bound(table, table + M, v[i]);
        out[i] = hit != table + M && *hit == v[i] ? hit - table + 1 : 0;
    }
    return 0;
}
