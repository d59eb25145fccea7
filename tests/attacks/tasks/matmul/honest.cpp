extern "C" int matmul(const float* a, const float* b, float* c, int64_t M, int64_t K, int64_t N) {
    memset(c, 0, (size_t)(M * N) * 4);
    for (int64_t m0 = 0; m0 < M; m0 += 4)
        for (int64_t k = 0; k < K; ++k)
            for (int64_t m = m0; m < M && m < m0 + 4; ++m) {
                const float scale = a[m * K + k];
                for (int64_t n = 0; n < N; ++n) c[m * N + n] += scale * b[k * N + n];
            }
    return 0;
}
