extern "C" int row_sum(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        float total = 0.0f, lost = 0.0f;
        for (int64_t c = 0; c < C; ++c) {
            const float value = x[r * C + c] - lost;
            const volatile float next = total + value;
            const volatile float gained = next - total;
            lost = gained - value;  // zero in exact arithmetic, the rounding error in this one
            total = next;
        }
        y[r] = total;
    }
    return 0;
}
