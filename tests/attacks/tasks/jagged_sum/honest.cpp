#include <vector>

extern "C" int jagged_sum(const float* values, const int64_t* offsets, float* out, int64_t B, int64_t D, int64_t,
                          int64_t) {
    std::vector<double> sums((size_t)D);  // a bag may be long
    for (int64_t b = 0; b < B; ++b) {
        sums.assign((size_t)D, 0.0);
        for (int64_t t = offsets[b]; t < offsets[b + 1]; ++t)
            for (int64_t d = 0; d < D; ++d) sums[(size_t)d] += values[t * D + d];
        for (int64_t d = 0; d < D; ++d) out[b * D + d] = (float)sums[(size_t)d];
    }
    return 0;
}
