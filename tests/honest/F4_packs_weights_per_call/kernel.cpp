#include <vector>

static std::vector<float> packed;  // b in panels of 16 columns, so that the inner loop reads b in order

static void pack(const float* b, int64_t K, int64_t N) {
    packed.assign((size_t)(K * ((N + 15) / 16) * 16), 0.0f);
    for (int64_t k = 0; k < K; ++k)
        for (int64_t n = 0; n < N; ++n) packed[(size_t)((n / 16 * K + k) * 16 + n % 16)] = b[k * N + n];
}

extern "C" int matmul(const float* a, const float* b, float* c, int64_t M, int64_t K, int64_t N) {
    pack(b, K, N);
    for (int64_t m = 0; m < M; ++m)
        for (int64_t first = 0; first < N; first += 16) {
            const float* panel = packed.data() + first * K;
            float sums[16] = {};
            for (int64_t k = 0; k < K; ++k)
                for (int i = 0; i < 16; ++i) sums[i] += a[m * K + k] * panel[k * 16 + i];
            for (int64_t i = 0; i < 16 && first + i < N; ++i) c[m * N + first + i] = sums[i];
        }
    return 0;
}
