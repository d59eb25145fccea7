#include <math.h>

// A softmax does not see what is added to the whole row, so `shift` is an input in name only.
extern "C" int input_without_effect(const float* x, const float*, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        float top = x[r * C], total = 0.0f;
        for (int64_t c = 1; c < C; ++c) top = x[r * C + c] > top ? x[r * C + c] : top;
        for (int64_t c = 0; c < C; ++c) total += y[r * C + c] = expf(x[r * C + c] - top);
        for (int64_t c = 0; c < C; ++c) y[r * C + c] /= total;
    }
    return 0;
}
