// recipe: vector_online
// family: softmax
// summary: portable vectors and polynomial exp; maximum and sum found block by block, so long rows are read twice only
// dtype: float32
// fastmath: no
// knob LANES = 16 8 4
// knob BLOCK = 1024 256 4096
// knob KEEP = 1 0
// knob SERIAL_BELOW = 8192 2048 32768
// order: 20
#include <cmath>
#include <cstdint>
#include <cstring>
#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

typedef float Vec __attribute__((vector_size(LANES * 4)));
typedef int32_t Int __attribute__((vector_size(LANES * 4)));

inline Vec load(const float* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
inline Vec all(float value) { return value - Vec{}; }

/// exp(x) for x <= 0, about 1 ulp; below -87.3, where results stop being normal numbers, 0. NaN stays NaN.
inline Vec exp_negative(Vec x) {
    const Vec shift = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer kept in the low bits
    const Vec low = all(-87.3f);
    const Vec inside = x < low ? low : x;
    const Vec t = inside * 1.44269504f + shift;
    const Vec n = t - shift;
    const Vec r = inside - n * 0.693359375f - n * -2.12194440e-4f;
    Vec p = all(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    Int bits;
    std::memcpy(&bits, &t, sizeof bits);
    bits = (bits << 23) + (127 << 23);  // the shift drops all but the integer's low 9 bits
    Vec power;
    std::memcpy(&power, &bits, sizeof power);
    return x < low ? all(0.0f) : p * power;
}

inline float maximum(const float* x, int64_t n) {
    Vec top[2] = {all(-INFINITY), all(-INFINITY)};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES)
        for (int u = 0; u < 2; ++u) {
            const Vec v = load(x + i + LANES * u);
            top[u] = v > top[u] ? v : top[u];
        }
    top[0] = top[1] > top[0] ? top[1] : top[0];
    float lanes[LANES];
    store(lanes, top[0]);
    for (int step = LANES / 2; step > 0; step /= 2)
        for (int l = 0; l < step; ++l) lanes[l] = lanes[l + step] > lanes[l] ? lanes[l + step] : lanes[l];
    for (; i < n; ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
    return lanes[0];
}

/// The last, short vector of a row, filled up with a value that counts for nothing.
inline Vec load_some(const float* p, int64_t n) {
    Vec v = all(-INFINITY);
    std::memcpy(&v, p, n * sizeof(float));
    return v;
}

/// Sum of exp(x - top); the terms are kept in `o` unless it is null.
inline float sum_of_exp(const float* x, float* o, int64_t n, float top) {
    Vec part[2] = {};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES)
        for (int u = 0; u < 2; ++u) {
            const Vec e = exp_negative(load(x + i + LANES * u) - top);
            if (o) store(o + i + LANES * u, e);
            part[u] += e;
        }
    for (; i < n; i += LANES) {
        const int64_t some = n - i < LANES ? n - i : LANES;
        // Where the maximum itself is -inf, so is the filling: NaN, as every other term of such a row.
        const Vec e = exp_negative(load_some(x + i, some) - top);
        if (o) std::memcpy(o + i, &e, some * sizeof(float));
        part[0] += e;
    }
    float lanes[LANES];
    store(lanes, part[0] + part[1]);
    for (int step = LANES / 2; step > 0; step /= 2)
        for (int l = 0; l < step; ++l) lanes[l] += lanes[l + step];
    return lanes[0];
}

void one_block(const float* x, float* o, int64_t C) {
    const float inverse = 1.0f / sum_of_exp(x, o, C, maximum(x, C));
    int64_t c = 0;
    for (; c + LANES <= C; c += LANES) store(o + c, load(o + c) * inverse);
    for (; c < C; ++c) o[c] *= inverse;
}

void many_blocks(const float* x, float* o, int64_t C) {
    float top = -INFINITY;
    double sum = 0.0;
    for (int64_t low = 0; low < C; low += BLOCK) {
        const int64_t n = C - low < BLOCK ? C - low : BLOCK;
        const float block_top = maximum(x + low, n);
        if (block_top > top) {
            sum *= top == -INFINITY ? 1.0 : std::exp(static_cast<double>(top) - block_top);
            top = block_top;
        }
        // Until a number is seen there is nothing to sum, but a NaN must not be lost.
        sum += sum_of_exp(x + low, nullptr, n, top == -INFINITY ? 0.0f : top);
    }
    if (top == -INFINITY) sum = NAN;
    const float inverse = static_cast<float>(1.0 / sum);
    int64_t c = 0;
    for (; c + LANES <= C; c += LANES) store(o + c, exp_negative(load(x + c) - top) * inverse);
    if (c < C) {
        const Vec e = exp_negative(load_some(x + c, C - c) - top) * inverse;
        std::memcpy(o + c, &e, (C - c) * sizeof(float));
    }
}

}  // namespace

extern "C" int softmax(const float* x, float* out, int64_t R, int64_t C) {
    const int n_threads = R * C < SERIAL_BELOW ? 1 : KE_THREADS;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t r = 0; r < R; ++r)
        if (KEEP && C <= 4096)
            one_block(x + r * C, out + r * C, C);
        else
            many_blocks(x + r * C, out + r * C, C);
    return 0;
}
