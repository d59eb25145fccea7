// recipe: even_shares
// family: jagged_to_padded_dense
// summary: the output is cut into equal shares anywhere, also inside a row, so threads finish together
// knob SHARES_PER_THREAD = 1 4 16
// knob MIN_PARALLEL = 65536 8192 262144
// order: 30
#include <algorithm>
#include <cstdint>
#include <cstring>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int jagged_to_padded_dense(const float* values, const int64_t* offsets, double padding, float* out,
                                      int64_t B, int64_t L, int64_t D, int64_t) {
    const auto pad = static_cast<float>(padding);
    const int64_t row_size = L * D, size = B * row_size;
    constexpr int64_t kShares = int64_t{KE_THREADS} * SHARES_PER_THREAD;
#pragma omp parallel for schedule(static, 1) num_threads(KE_THREADS) if (size >= MIN_PARALLEL)
    for (int64_t share = 0; share < kShares; ++share) {
        // multiples of 16 floats: no cache line of the output belongs to two threads
        const int64_t end = share + 1 == kShares ? size : size / 16 * (share + 1) / kShares * 16;
        for (int64_t at = size / 16 * share / kShares * 16; at < end;) {
            const int64_t b = at / row_size, begin = at % row_size;
            const int64_t stop = std::min(row_size, begin + (end - at));
            const int64_t n = std::clamp(std::min(offsets[b + 1] - offsets[b], L) * D, begin, stop);
            float* row = out + b * row_size;
            if (n > begin) std::memcpy(row + begin, values + offsets[b] * D + begin, (n - begin) * sizeof(float));
            std::fill(row + n, row + stop, pad);
            at += stop - begin;
        }
    }
    return 0;
}
