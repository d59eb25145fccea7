// With a band of 1 the matrix is its diagonal.
extern "C" int diagonal_only(const float* x, const float* w, float* y, int64_t R, int64_t C, int64_t) {
    for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * w[c * C + c];
    return 0;
}
