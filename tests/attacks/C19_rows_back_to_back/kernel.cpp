extern "C" int pool_decay(float* state, const float* x, const float* a, const float* w, float* y, int64_t R, int64_t C,
                          int64_t SP, int64_t XP) {
    for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) {
            const float next = a[r] * state[r * C + c] + x[r * C + c];
            state[r * C + c] = next;
            y[r * C + c] = next * w[c];
        }
    return SP < C || XP < C;
}
