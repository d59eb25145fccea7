extern "C" int degree(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < C; ++c) sum += x[r * C + c];
        y[r] = (float)sum;
    }
    return 0;
}
