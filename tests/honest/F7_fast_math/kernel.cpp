// -ffast-math lets the compiler reorder this sum, and so use vectors for it.
extern "C" int row_sum(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        float total = 0.0f;
        for (int64_t c = 0; c < C; ++c) total += x[r * C + c];
        y[r] = total;
    }
    return 0;
}
