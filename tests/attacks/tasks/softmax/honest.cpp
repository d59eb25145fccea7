#include <math.h>

extern "C" int softmax(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        const float* in = x + r * C;
        float* out = y + r * C;
        float top = in[0];
        for (int64_t c = 1; c < C; ++c) top = in[c] > top ? in[c] : top;
        double sum = 0;
        for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - top);
        const float scale = (float)(1 / sum);
        for (int64_t c = 0; c < C; ++c) out[c] *= scale;
    }
    return 0;
}
