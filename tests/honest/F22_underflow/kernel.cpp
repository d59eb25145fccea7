#include <cmath>

extern "C" int bell(const float* x, float* y, int64_t N) {
    for (int64_t i = 0; i < N; ++i) y[i] = std::exp(-x[i] * x[i]);
    return 0;
}
