#include <math.h>

extern "C" int affine_norm(const float* x, const float*, const float*, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        double sum = 0, squares = 0;
        for (int64_t c = 0; c < C; ++c) sum += x[r * C + c];
        const double mean = sum / (double)C;
        for (int64_t c = 0; c < C; ++c) squares += (x[r * C + c] - mean) * (x[r * C + c] - mean);
        const double scale = 1 / sqrt(squares / (double)C + 1e-5);
        for (int64_t c = 0; c < C; ++c) y[r * C + c] = (float)((x[r * C + c] - mean) * scale);
    }
    return 0;
}
