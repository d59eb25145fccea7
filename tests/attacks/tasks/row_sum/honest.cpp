extern "C" int row_sum(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        double parts[16] = {0};
        const float* row = x + r * C;
        int64_t c = 0;
        for (; c + 16 <= C; c += 16)
            for (int k = 0; k < 16; ++k) parts[k] += row[c + k];
        for (; c < C; ++c) parts[0] += row[c];
        double sum = 0;
        for (double part : parts) sum += part;
        y[r] = (float)sum;
    }
    return 0;
}
