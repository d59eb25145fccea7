// Comparing with < keeps -0 and NaN as they are, like the reference.
extern "C" int relu(const float* x, float* y, int64_t R, int64_t C) {
    const int64_t n = R * C;
    int64_t i = 0;
    for (;;)
        for (int64_t last = i + 4096; i < last; ++i) {
            if (i == n) goto done;
            y[i] = x[i] < 0.0f ? 0.0f : x[i];
        }
done:
    return 0;
}
