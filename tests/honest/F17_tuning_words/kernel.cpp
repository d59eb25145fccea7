#include <algorithm>

constexpr int64_t BLOCK_M = 4, BLOCK_N = 32, num_stages = 2;

// num_stages values of k per step: the loads of one overlap with the sums of the other.
template <bool WHOLE>
static void block(const float* a, const float* b, float* c, int64_t K, int64_t N, int64_t rows, int64_t columns) {
    const int64_t m_end = WHOLE ? BLOCK_M : rows, n_end = WHOLE ? BLOCK_N : columns;
    float sums[BLOCK_M][BLOCK_N] = {};
    for (int64_t first = 0; first < K; first += num_stages)
        for (int64_t k = first; k < std::min(K, first + num_stages); ++k)
            for (int64_t m = 0; m < m_end; ++m)
                for (int64_t n = 0; n < n_end; ++n) sums[m][n] += a[m * K + k] * b[k * N + n];
    for (int64_t m = 0; m < m_end; ++m)
        for (int64_t n = 0; n < n_end; ++n) c[m * N + n] = sums[m][n];
}

extern "C" int matmul(const float* a, const float* b, float* c, int64_t M, int64_t K, int64_t N) {
    for (int64_t m = 0; m < M; m += BLOCK_M)
        for (int64_t n = 0; n < N; n += BLOCK_N) {
            const int64_t rows = std::min(BLOCK_M, M - m), columns = std::min(BLOCK_N, N - n);
            const bool whole = rows == BLOCK_M && columns == BLOCK_N;
            (whole ? block<true> : block<false>)(a + m * K, b + n, c + m * N + n, K, N, rows, columns);
        }
    return 0;
}
