// recipe: interleaved_search
// family: bucketize_torcharrow
// summary: branch-free binary searches of LANES values in lock step, so that their loads overlap
// knob LANES = 16 4 8 32
// knob MIN_PARALLEL = 8192 2048 65536
// order: 20
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

// Scratch keeps its pages between calls, never its content.
float* scratch(size_t n) {
    static thread_local float* block = nullptr;
    static thread_local size_t size = 0;
    if (n > size) {
        std::free(block);
        size = (n + 15) / 16 * 16;
        block = static_cast<float*>(std::aligned_alloc(64, size * sizeof(float)));
        if (block == nullptr) size = 0;
    }
    return block;
}

// A value on a border that is stored twice goes between the two: it must count the first of them. So that one becomes
// the next smaller float, or NaN where there is none (nothing is at most NaN, so it is always counted).
void lower_twins(const float* borders, int64_t M, float* lowered) {
    const float infinity = std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < M; ++i) {
        const bool first = i + 1 < M && borders[i] == borders[i + 1] && (i == 0 || borders[i - 1] < borders[i]);
        lowered[i] = borders[i];
        if (first) lowered[i] = borders[i] == -infinity ? NAN : std::nextafter(borders[i], -infinity);
    }
}

}  // namespace

// The halving sequence depends on M alone: all lanes take the same steps. NaN is "not at most" any border.
static inline void search_block(const float* values, const float* borders, int32_t* out, int64_t M,
                                int32_t nan_bucket) {
    uint32_t at[LANES] = {};
    for (auto length = static_cast<uint32_t>(M); length > 1;) {
        const uint32_t half = length / 2;
        for (int l = 0; l < LANES; ++l) at[l] += values[l] <= borders[at[l] + half - 1] ? 0 : half;
        length -= half;
    }
    for (int l = 0; l < LANES; ++l) out[l] = static_cast<int32_t>(at[l] + !(values[l] <= borders[at[l]]));
    for (int l = 0; l < LANES; ++l) out[l] = values[l] != values[l] ? nan_bucket : out[l];
}

extern "C" int bucketize_torcharrow(const float* values, const float* borders, int32_t* out, int64_t N, int64_t M) {
    if (M == 0) {
        std::fill_n(out, N, 0);
        return 0;
    }
    const int32_t nan_bucket = M > 1;  // NaN is below no border, but neither is it below the second one
    float* lowered = scratch(static_cast<size_t>(M) + 1);
    if (lowered == nullptr) return 1;
    lower_twins(borders, M, lowered);
    const int64_t n_blocks = N / LANES, done = n_blocks * LANES;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < n_blocks; ++i) search_block(values + i * LANES, lowered, out + i * LANES, M, nan_bucket);
    float last_values[LANES] = {};
    int32_t last_out[LANES];
    std::copy(values + done, values + N, last_values);
    search_block(last_values, lowered, last_out, M, nan_bucket);
    std::copy(last_out, last_out + (N - done), out + done);
    return 0;
}
