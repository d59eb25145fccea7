#include <math.h>

#include <vector>

extern "C" int sigmoid_linear(const float* x, const float* logits, float* out, int64_t R, int64_t K, int64_t N) {
    static thread_local std::vector<float> gate;
    gate.resize((size_t)N);
    memset(out, 0, (size_t)(R * N) * 4);
    for (int64_t k = 0; k < K; ++k) {
        for (int64_t n = 0; n < N; ++n) gate[(size_t)n] = 1.0f / (1.0f + expf(-logits[k * N + n]));
        for (int64_t r = 0; r < R; ++r)
            for (int64_t n = 0; n < N; ++n) out[r * N + n] += x[r * K + k] * gate[(size_t)n];
    }
    return 0;
}
