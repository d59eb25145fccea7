// recipe: count_blocks
// family: bucketize_torcharrow
// summary: no search: compare a block of values with every border and count; the loop over values vectorises
// knob BLOCK = 256 64 128 512 1024
// knob COUNT_UP_TO = 160 40 640
// knob MIN_PARALLEL = 8192 2048 65536
// order: 30
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

static void count_block(const float* values, const float* borders, int64_t M, int32_t* out, int64_t n) {
    int32_t count[BLOCK] = {};
    for (int64_t b = 0; b < M; ++b) {
        const float limit = borders[b];
        for (int64_t i = 0; i < n; ++i) count[i] += !(values[i] <= limit);  // NaN belongs above every border
    }
    for (int64_t i = 0; i < n; ++i) out[i] = count[i];
}

static void search_block(const float* values, const float* borders, int64_t M, int32_t* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const float value = values[i];
        out[i] = static_cast<int32_t>(
            std::partition_point(borders, borders + M, [value](float border) { return !(value <= border); }) - borders);
    }
}

extern "C" int bucketize_torcharrow(const float* values, const float* borders, int32_t* out, int64_t N, int64_t M) {
    const int32_t nan_bucket = M > 1;  // NaN is below no border, but neither is it below the second one
    float* lowered = scratch(static_cast<size_t>(M) + 1);
    if (lowered == nullptr) return 1;
    lower_twins(borders, M, lowered);
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < N; i += BLOCK) {
        const int64_t n = std::min<int64_t>(BLOCK, N - i);
        if (M <= COUNT_UP_TO) count_block(values + i, lowered, M, out + i, n);
        else search_block(values + i, lowered, M, out + i, n);
        for (int64_t j = i; j < i + n; ++j) out[j] = values[j] != values[j] ? nan_bucket : out[j];
    }
    return 0;
}
