extern "C" int row_sum(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        float lanes[32] = {}, total = 0.0f;
        int64_t c = 0;
        for (; c + 32 <= C; c += 32)
            for (int i = 0; i < 32; ++i) lanes[i] += x[r * C + c + i];
        for (; c < C; ++c) lanes[0] += x[r * C + c];
        for (int i = 0; i < 32; ++i) total += lanes[i];
        y[r] = total;
    }
    return 0;
}
