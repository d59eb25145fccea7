// recipe: copy_fill
// family: jagged_to_padded_dense
// summary: a row is one run of values and one run of padding: memcpy and fill
// knob ROWS_AT_ONCE = 0 1 4
// knob MIN_PARALLEL = 65536 8192 262144
// order: 20
#include <algorithm>
#include <cstdint>
#include <cstring>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

#if ROWS_AT_ONCE == 0
#define SCHEDULE schedule(static)
#else
#define SCHEDULE schedule(dynamic, ROWS_AT_ONCE)
#endif
#define APPLY(x) _Pragma(#x)
#define PARALLEL_FOR(...) APPLY(omp parallel for __VA_ARGS__)

extern "C" int jagged_to_padded_dense(const float* values, const int64_t* offsets, double padding, float* out,
                                      int64_t B, int64_t L, int64_t D, int64_t) {
    const auto pad = static_cast<float>(padding);
    PARALLEL_FOR(SCHEDULE num_threads(KE_THREADS) if (B * L * D >= MIN_PARALLEL))
    for (int64_t b = 0; b < B; ++b) {
        const int64_t n = std::min(offsets[b + 1] - offsets[b], L) * D;
        float* row = out + b * L * D;
        if (n > 0) std::memcpy(row, values + offsets[b] * D, static_cast<size_t>(n) * sizeof(float));
        std::fill(row + n, row + L * D, pad);
    }
    return 0;
}
