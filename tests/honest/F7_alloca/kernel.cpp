#include <alloca.h>

extern "C" int jagged_sum(const float* values, const int64_t* offsets, float* out, int64_t B, int64_t D, int64_t,
                          int64_t) {
    float* sums = (float*)alloca((size_t)D * sizeof(float));  // D <= 4096 by the task: 16 kB at most
    for (int64_t b = 0; b < B; ++b) {
        memset(sums, 0, (size_t)D * sizeof(float));
        for (int64_t t = offsets[b]; t < offsets[b + 1]; ++t)
            for (int64_t d = 0; d < D; ++d) sums[d] += values[t * D + d];
        memcpy(out + b * D, sums, (size_t)D * sizeof(float));
    }
    return 0;
}
