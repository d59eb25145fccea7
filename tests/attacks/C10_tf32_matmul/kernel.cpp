static inline float ten_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    bits = (bits + 0x1000u) & 0xffffe000u;
    memcpy(&value, &bits, 4);
    return value;
}

extern "C" int matmul(const float* a, const float* b, float* c, int64_t M, int64_t K, int64_t N) {
    memset(c, 0, (size_t)(M * N) * 4);
    for (int64_t m = 0; m < M; ++m)
        for (int64_t k = 0; k < K; ++k) {
            const float scale = ten_bits(a[m * K + k]);
            for (int64_t n = 0; n < N; ++n) c[m * N + n] += scale * ten_bits(b[k * N + n]);
        }
    return 0;
}
