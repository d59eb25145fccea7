#include <cmath>

extern "C" int affine_norm(const float* x, const float* gamma, const float* beta, float* y, int64_t R, int64_t C) {
    float tile[64 * 1024];  // holds a whole row in most cases: x is then read once
    for (int64_t r = 0; r < R; ++r) {
        const float* row = x + r * C;
        if (C <= 64 * 1024) row = (const float*)memcpy(tile, row, (size_t)C * sizeof(float));
        double total = 0.0, squares = 0.0;
        for (int64_t c = 0; c < C; ++c) total += row[c];
        const float mean = (float)(total / (double)C);
        for (int64_t c = 0; c < C; ++c) squares += (double)(row[c] - mean) * (row[c] - mean);
        const float scale = (float)(1.0 / std::sqrt(squares / (double)C + 1e-5));
        for (int64_t c = 0; c < C; ++c) y[r * C + c] = (row[c] - mean) * scale * gamma[c] + beta[c];
    }
    return 0;
}
