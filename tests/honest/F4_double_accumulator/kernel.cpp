extern "C" int row_sum(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        double sums[8] = {};
        int64_t c = 0;
        for (; c + 8 <= C; c += 8)
            for (int i = 0; i < 8; ++i) sums[i] += (double)x[r * C + c + i];
        for (; c < C; ++c) sums[0] += (double)x[r * C + c];
        y[r] = (float)(((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])));
    }
    return 0;
}
