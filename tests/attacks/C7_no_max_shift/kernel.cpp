#include <math.h>

extern "C" int softmax(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        double sum = 0;
        for (int64_t c = 0; c < C; ++c) sum += y[r * C + c] = expf(x[r * C + c]);
        for (int64_t c = 0; c < C; ++c) y[r * C + c] = (float)(y[r * C + c] / sum);
    }
    return 0;
}
