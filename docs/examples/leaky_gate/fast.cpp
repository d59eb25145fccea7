// One pass over memory instead of five, with an exponential the compiler can turn into vector instructions.
#include <bit>

// e^x to about 1e-7: 2^n times a polynomial on what is left, at most ln(2)/2 in size.
static inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;  // rounds to an integer
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.3888889e-3f;
    p = p * r + 8.3333333e-3f;
    p = p * r + 4.1666667e-2f;
    p = p * r + 1.6666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}

extern "C" int leaky_gate(const float* x, const float* scale, const float* shift, double slope, float* out,
                          int64_t R, int64_t C) {
    const float leak = static_cast<float>(slope);
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < R; ++r) {
        const float* row = x + r * C;
        float* to = out + r * C;
#pragma omp simd
        for (int64_t c = 0; c < C; ++c) {
            const float gated = row[c] / (1.0f + exponential(-(scale[c] * row[c] + shift[c])));
            const float leaked = gated * leak;
            to[c] = gated < 0.0f ? leaked : gated;
        }
    }
    return 0;
}
