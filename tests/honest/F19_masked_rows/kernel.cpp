#include <cmath>

extern "C" int masked_log_softmax(const float* x, const uint8_t* allowed, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        const float* row = x + r * C;
        const uint8_t* open = allowed + r * C;
        float top = -INFINITY;
        for (int64_t c = 0; c < C; ++c) top = open[c] && row[c] > top ? row[c] : top;
        double total = 0.0;
        for (int64_t c = 0; c < C; ++c) total += open[c] ? std::exp(row[c] - top) : 0.0f;
        const float shift = top + (float)std::log(total);
        const float shut = total > 0.0 ? -INFINITY : NAN;
        for (int64_t c = 0; c < C; ++c) y[r * C + c] = open[c] ? row[c] - shift : shut;
    }
    return 0;
}
