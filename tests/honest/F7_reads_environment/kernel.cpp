#include <stdlib.h>

extern "C" int relu(const float* x, float* y, int64_t R, int64_t C) {
    const char* text = getenv("OMP_NUM_THREADS");
    const int n_threads = text && atoi(text) > 0 ? atoi(text) : 1;
#pragma omp parallel for num_threads(n_threads)
    for (int64_t i = 0; i < R * C; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
    return 0;
}
