static double total(const float* x, int64_t n) {
    double sums[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int lane = 0; lane < 8; ++lane) sums[lane] += x[i + lane];
    for (; i < n; ++i) sums[0] += x[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

extern "C" int outer_total(const float* x, const float* y, float* out, int64_t B, int64_t N) {
    for (int64_t b = 0; b < B; ++b) out[b] = (float)(total(x + b * N, N) * total(y + b * N, N));
    return 0;
}
