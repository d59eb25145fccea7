// recipe: scalar
// family: softmax
// summary: the definition: maximum, exponentials and their sum, division
// dtype: float32
// order: 10
#include <cmath>
#include <cstdint>
#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int softmax(const float* x, float* out, int64_t R, int64_t C) {
#pragma omp parallel for num_threads(KE_THREADS) schedule(static)
    for (int64_t r = 0; r < R; ++r) {
        const float* row = x + r * C;
        float* o = out + r * C;
        float top = -INFINITY;
        for (int64_t c = 0; c < C; ++c) top = row[c] > top ? row[c] : top;
        double sum = 0;  // a float would drift: rows reach a million columns
        for (int64_t c = 0; c < C; ++c) {
            o[c] = std::exp(row[c] - top);
            sum += o[c];
        }
        const float inverse = static_cast<float>(1.0 / sum);
        for (int64_t c = 0; c < C; ++c) o[c] *= inverse;
    }
    return 0;
}
