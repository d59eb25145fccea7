// recipe: column_blocks
// family: jagged_pooled_embedding
// summary: COLUMNS running sums stay in registers over a whole bag; rows of later lookups are fetched ahead
// knob COLUMNS = 64 32 128 256
// knob AHEAD = 8 0 4 16 32
// knob LOOKUPS_AT_ONCE = 0 16 64
// order: 20
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

#if LOOKUPS_AT_ONCE == 0
#define SCHEDULE schedule(static)
#else
#define SCHEDULE schedule(dynamic, LOOKUPS_AT_ONCE)
#endif
#define APPLY(x) _Pragma(#x)
#define PARALLEL_FOR(...) APPLY(omp parallel for __VA_ARGS__)

namespace {

struct Bag {
    const float* table;
    const int64_t *first, *last, *end;  // its indices, and the end of all
    int64_t D;
};

// A prefetch of a wrong address does no harm, so a bag's end or a pruned index need no care.
// Inlined by force: a call of a function that only prefetches is dropped as having no effect.
[[gnu::always_inline]] inline void fetch_ahead(const Bag& bag, const int64_t* index, int64_t column, int64_t width) {
    if (AHEAD == 0 || bag.end - index <= AHEAD) return;
    const char* row = reinterpret_cast<const char*>(
        reinterpret_cast<uintptr_t>(bag.table) + static_cast<uintptr_t>(index[AHEAD] * bag.D + column) * sizeof(float));
    for (int64_t byte = 0; byte < width * int64_t{sizeof(float)}; byte += 64) __builtin_prefetch(row + byte);
}

inline void whole_block(const Bag& bag, int64_t column, float* out) {
    float sum[COLUMNS] = {};
    for (const int64_t* index = bag.first; index < bag.last; ++index) {
        fetch_ahead(bag, index, column, COLUMNS);
        if (*index < 0) continue;
        const float* row = bag.table + *index * bag.D + column;
        for (int d = 0; d < COLUMNS; ++d) sum[d] += row[d];
    }
    std::copy_n(sum, COLUMNS, out + column);
}

inline void rest(const Bag& bag, int64_t column, float* out) {
    const int64_t width = bag.D - column;
    float sum[COLUMNS] = {};
    for (const int64_t* index = bag.first; index < bag.last; ++index) {
        fetch_ahead(bag, index, column, width);
        if (*index < 0) continue;
        const float* row = bag.table + *index * bag.D + column;
        for (int64_t d = 0; d < width; ++d) sum[d] += row[d];
    }
    std::copy_n(sum, width, out + column);
}

}  // namespace

extern "C" int jagged_pooled_embedding(const float* tables, const int64_t* indices, const int64_t* offsets, float* out,
                                       int64_t B, int64_t G, int64_t R, int64_t D, int64_t, int64_t I) {
    PARALLEL_FOR(SCHEDULE num_threads(KE_THREADS) if (I * D >= 32768))
    for (int64_t n = 0; n < G * B; ++n) {
        const int64_t g = n / B, b = n % B;
        const Bag bag{tables + g * R * D, indices + offsets[n], indices + offsets[n + 1], indices + I, D};
        int64_t column = 0;
        for (; column + COLUMNS <= D; column += COLUMNS) whole_block(bag, column, out + (b * G + g) * D);
        if (column < D) rest(bag, column, out + (b * G + g) * D);
    }
    return 0;
}
