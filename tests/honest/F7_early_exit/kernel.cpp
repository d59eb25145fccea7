extern "C" int gated_rows(const float* x, const float* gate, const float* w, float* y, int64_t R, int64_t C,
                          int64_t K) {
    memset(y, 0, (size_t)(R * K) * sizeof(float));
    for (int64_t r = 0; r < R; ++r) {
        if (gate[r] == 0.0f) continue;  // x and w are finite: zero times the row is zero
        for (int64_t c = 0; c < C; ++c) {
            const float factor = gate[r] * x[r * C + c];
            for (int64_t k = 0; k < K; ++k) y[r * K + k] += factor * w[c * K + k];
        }
    }
    return 0;
}
