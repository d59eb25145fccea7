extern "C" int pad_rows(const float* x, float* y, int64_t R, int64_t C, int64_t P) {
    const int64_t width = C + 2 * P;
    const size_t margin = (size_t)P * sizeof(float);
    for (int64_t r = 0; r < R; ++r) {
        float* row = y + r * width;
        memset(row, 0, margin);
        memcpy(row + P, x + r * C, (size_t)C * sizeof(float));
        memset(row + P + C, 0, margin);
    }
    return 0;
}
