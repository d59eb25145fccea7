// The compiler unrolls what it can count; 1031 columns are common enough to deserve it.
template <int64_t WIDTH>
static void rows(const float* x, const float* w, float* y, int64_t n_rows, int64_t n_columns) {
    const int64_t width = WIDTH ? WIDTH : n_columns;
    for (int64_t r = 0; r < n_rows; ++r)
        for (int64_t c = 0; c < width; ++c) y[r * width + c] = x[r * width + c] * w[c] + 1.0f;
}

extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    if (C == 1031) rows<1031>(x, w, y, R, C);
    else rows<0>(x, w, y, R, C);
    return 0;
}
