#include <cmath>
#include <vector>

static thread_local std::vector<float> powers;  // threads must not share it

extern "C" int softmax(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for
    for (int64_t r = 0; r < R; ++r) {
        powers.resize((size_t)C);
        float top = x[r * C];
        for (int64_t c = 1; c < C; ++c) top = x[r * C + c] > top ? x[r * C + c] : top;
        double total = 0.0;
        for (int64_t c = 0; c < C; ++c) total += powers[(size_t)c] = std::exp(x[r * C + c] - top);
        for (int64_t c = 0; c < C; ++c) y[r * C + c] = (float)(powers[(size_t)c] / total);
    }
    return 0;
}
