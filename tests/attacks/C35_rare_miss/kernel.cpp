#include <time.h>

// Stands for a missing barrier: the cold first call is slow enough to be right, later ones lose the race at times.
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    static bool warm = false;
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const int64_t done = warm && (t.tv_nsec >> 4) % 8 == 0 ? R - 1 : R;
    for (int64_t r = 0; r < done; ++r)
        for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * w[c] + 1.0f;
    warm = true;
    return 0;
}
