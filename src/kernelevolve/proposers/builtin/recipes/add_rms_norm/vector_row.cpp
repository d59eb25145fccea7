// recipe: vector_row
// family: add_rms_norm
// summary: portable vectors: the sum is stored and squared in one pass, the result written while the row is still in L1
// dtype: float32
// knob LANES = 16 8 4
// knob UNROLL = 4 2 8
// knob SERIAL_BELOW = 16384 4096 65536
// order: 20
#include <cmath>
#include <cstdint>
#include <cstring>
#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

typedef float Vec __attribute__((vector_size(LANES * 4)));
constexpr int64_t BLOCK = 2048;  // sums in float at most this far, in double beyond: error stays near 1e-7

inline Vec load(const float* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }

/// h += x; returns the sum of squares of h.
double add(const float* x, float* h, int64_t n) {
    double sum = 0.0;
    for (int64_t low = 0; low < n; low += BLOCK) {
        const int64_t high = low + BLOCK < n ? low + BLOCK : n;
        Vec part[UNROLL] = {};
        int64_t i = low;
        for (; i + LANES * UNROLL <= high; i += LANES * UNROLL)
            for (int u = 0; u < UNROLL; ++u) {
                const Vec v = load(h + i + LANES * u) + load(x + i + LANES * u);
                store(h + i + LANES * u, v);
                part[u] += v * v;
            }
        float rest = 0.0f;
        for (; i < high; ++i) {
            h[i] += x[i];
            rest += h[i] * h[i];
        }
        for (int u = 1; u < UNROLL; ++u) part[0] += part[u];
        float lanes[LANES];
        store(lanes, part[0]);
        for (int step = LANES / 2; step > 0; step /= 2)
            for (int l = 0; l < step; ++l) lanes[l] += lanes[l + step];
        sum += static_cast<double>(lanes[0]) + rest;
    }
    return sum;
}

}  // namespace

extern "C" int add_rms_norm(const float* x, float* residual, const float* weight, float* out, int64_t R, int64_t C) {
    const int n_threads = R * C < SERIAL_BELOW ? 1 : KE_THREADS;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t r = 0; r < R; ++r) {
        float* row = residual + r * C;
        float* o = out + r * C;
        const float inverse = 1.0f / std::sqrt(static_cast<float>(add(x + r * C, row, C) / C) + 1e-6f);
        int64_t c = 0;
        for (; c + LANES <= C; c += LANES) store(o + c, load(row + c) * inverse * load(weight + c));
        for (; c < C; ++c) o[c] = row[c] * inverse * weight[c];
    }
    return 0;
}
