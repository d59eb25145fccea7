// recipe: count_blocks
// family: merge_bucketized_dense
// summary: no search: compare a block of values with every border and count; the loop over values vectorises
// knob BLOCK = 256 64 128 512 1024
// knob MIN_PARALLEL = 16384 2048 131072
// order: 20
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

static void do_block(const float* x, const float* first, const float* last, int64_t shift, int64_t* out, int64_t n) {
    int32_t count[BLOCK] = {};
    for (const float* border = first; border < last; ++border) {
        const float limit = *border;
        for (int64_t i = 0; i < n; ++i) count[i] += !(x[i] <= limit);  // NaN belongs above every border
    }
    for (int64_t i = 0; i < n; ++i) out[i] = count[i] + shift;
}

extern "C" int merge_bucketized_dense(const float* x, const float* borders, const int64_t* border_offsets, int64_t* out,
                                      int64_t F, int64_t N, int64_t) {
    const int64_t per_feature = (N + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (F * N >= MIN_PARALLEL)
    for (int64_t item = 0; item < F * per_feature; ++item) {
        const int64_t f = item / per_feature, begin = item % per_feature * BLOCK;
        const int64_t first = border_offsets[f], last = border_offsets[f + 1];
        const int64_t at = f * N + begin;
        do_block(x + at, borders + first, borders + last, first + f, out + at, std::min<int64_t>(BLOCK, N - begin));
    }
    return 0;
}
