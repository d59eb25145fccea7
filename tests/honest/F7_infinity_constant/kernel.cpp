#include <cmath>

extern "C" int softmax(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        float top = -INFINITY;
        for (int64_t c = 0; c < C; ++c) top = std::fmax(top, x[r * C + c]);
        double total = 0.0;
        for (int64_t c = 0; c < C; ++c) total += y[r * C + c] = std::exp(x[r * C + c] - top);
        const float share = (float)(1.0 / total);
        for (int64_t c = 0; c < C; ++c) y[r * C + c] *= share;
    }
    return 0;
}
