// The head up to the first 64-byte boundary is added alone: aligned loads never split a line.
extern "C" int row_sum(const float* x, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        const float* row = x + r * C;
        float lanes[64] = {}, head = 0.0f;
        int64_t c = 0;
        for (; c < C && ((uintptr_t)(row + c) & 63); ++c) head += row[c];
        for (; c + 64 <= C; c += 64)
            for (int i = 0; i < 64; ++i) lanes[i] += row[c + i];
        for (int i = 0; c < C; ++c, ++i) lanes[i] += row[c];
        for (int step = 32; step > 0; step /= 2)
            for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
        y[r] = lanes[0] + head;
    }
    return 0;
}
