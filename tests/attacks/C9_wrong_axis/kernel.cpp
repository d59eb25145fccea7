extern "C" int degree(const float* x, float* y, int64_t R, int64_t C) {
    memset(y, 0, (size_t)C * 4);
    for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) y[c] += x[r * C + c];
    return 0;
}
