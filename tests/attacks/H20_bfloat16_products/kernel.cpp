static float coarse(float value) { return ke_bf16_to_float(ke_float_to_bf16(value)); }

extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) y[r * C + c] = coarse(x[r * C + c]) * coarse(w[c]) + 1.0f;
    return 0;
}
