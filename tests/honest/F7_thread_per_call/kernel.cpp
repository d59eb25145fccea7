#include <omp.h>

#include <thread>

static void rows(const float* a, const float* b, float* c, int64_t first, int64_t last, int64_t K, int64_t N) {
    for (int64_t m = first; m < last; ++m) {
        memset(c + m * N, 0, (size_t)N * sizeof(float));
        for (int64_t k = 0; k < K; ++k)
            for (int64_t n = 0; n < N; ++n) c[m * N + n] += a[m * K + k] * b[k * N + n];
    }
}

extern "C" int matmul(const float* a, const float* b, float* c, int64_t M, int64_t K, int64_t N) {
    const int64_t half = omp_get_max_threads() > 1 ? M / 2 : 0;  // no more threads than the job has
    if (half == 0) {
        rows(a, b, c, 0, M, K, N);
        return 0;
    }
    std::thread other(rows, a, b, c, 0, half, K, N);
    rows(a, b, c, half, M, K, N);
    other.join();
    return 0;
}
