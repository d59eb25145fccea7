#include <math.h>

// NaN for anything below 0, of which the task has none.
extern "C" int abs_nonnegative(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t i = 0; i < R * C; ++i) y[i] = sqrtf(x[i]);
    return 0;
}
