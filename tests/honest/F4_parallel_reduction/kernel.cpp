extern "C" int row_sum(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        const float* row = x + r * C;
        double total = 0.0;
#pragma omp parallel for simd reduction(+ : total)
        for (int64_t c = 0; c < C; ++c) total += row[c];
        y[r] = (float)total;
    }
    return 0;
}
