#include <vector>

// Eight sums at once: one would wait for itself at every step.
template <class Term> static double sum_of(int64_t n, Term term) {
    double sums[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int lane = 0; lane < 8; ++lane) sums[lane] += term(i + lane);
    for (; i < n; ++i) sums[0] += term(i);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]) + (sums[4] + sums[5]) + (sums[6] + sums[7]);
}

// The sum over the outputs moves into the weights: R*C + C*K operations instead of R*C*K.
extern "C" int reducible(const float* x, const float* w, float* y, int64_t R, int64_t C, int64_t K) {
    std::vector<double> total((size_t)C);
    for (int64_t c = 0; c < C; ++c)
        total[(size_t)c] = sum_of(K, [&](int64_t k) { return (double)w[c * K + k]; });
    for (int64_t r = 0; r < R; ++r)
        y[r] = (float)sum_of(C, [&](int64_t c) { return (double)x[r * C + c] * total[(size_t)c]; });
    return 0;
}
