extern "C" int decay_state(float* state, const float* x, const float* a, const float* w, float* y, int64_t R,
                           int64_t C) {
    for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) {
            const int64_t i = r * C + c;
            state[i] = (float)(_Float16)(a[r] * state[i] + x[i]);
            y[i] = state[i] * w[c];
        }
    return 0;
}
