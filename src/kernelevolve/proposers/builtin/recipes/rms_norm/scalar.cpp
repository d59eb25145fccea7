// recipe: scalar
// family: rms_norm
// summary: the definition, one row after another, one running sum
// dtype: float32
// order: 10
#include <cmath>
#include <cstdint>
#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int rms_norm(const float* x, const float* weight, float* out, int64_t R, int64_t C) {
#pragma omp parallel for num_threads(KE_THREADS) schedule(static)
    for (int64_t r = 0; r < R; ++r) {
        const float* row = x + r * C;
        double sum = 0;  // a float would drift: rows reach 65536 columns
        for (int64_t c = 0; c < C; ++c) sum += static_cast<double>(row[c]) * row[c];
        const float inverse = 1.0f / std::sqrt(static_cast<float>(sum / C) + 1e-6f);
        for (int64_t c = 0; c < C; ++c) out[r * C + c] = row[c] * inverse * weight[c];
    }
    return 0;
}
