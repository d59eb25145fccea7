// recipe: direct_vector
// family: conv1d
// summary: portable direct convolution: packed weights, zero-padded input window, MR x NV outer-product tile
// dtype: float32
// knob LANES = 16 8
// knob MR = 8 4 6
// knob NV = 2 3 4
// order: 20
//
// LANES: floats per vector (the compiler splits what the chip lacks). MR, NV: output channels and vectors per tile.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

typedef float Vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
static constexpr int64_t WIDTH = LANES * NV, STRIDE = WIDTH + 16;

// Sums over channels are taken in pieces of CHAIN, which rounds less than one long chain.
static constexpr int64_t CHAIN = 128;

// MR channels x WIDTH positions; window rows start one position before the first output.
static void tile(const float* weights, const float* window, const float* bias, int64_t ci, float (&block)[MR][WIDTH],
                 bool add) {
    Vec acc[MR][NV];
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) acc[r][v] = Vec{} + (add ? 0.f : bias[r]);
    for (int64_t i = 0; i < ci; ++i)
#pragma GCC unroll 3
        for (int t = 0; t < 3; ++t) {
            const float *w = weights + (i * 3 + t) * MR, *row = window + i * STRIDE + t;
#pragma GCC unroll 8
            for (int r = 0; r < MR; ++r)
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v) acc[r][v] += w[r] * *(const Vec*)(row + v * LANES);
        }
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            Vec* to = (Vec*)(block[r] + v * LANES);
            *to = add ? *to + acc[r][v] : acc[r][v];
        }
}

extern "C" int conv1d(const float* x, const float* weight, const float* bias, float* out, int64_t B, int64_t CI,
                      int64_t CO, int64_t L) {
    const int64_t groups = (CO + MR - 1) / MR, parts = (L + WIDTH - 1) / WIDTH;
    std::vector<float> packed(groups * CI * 3 * MR), biases(groups * MR);
    std::copy(bias, bias + CO, biases.begin());
#pragma omp parallel num_threads(KE_THREADS)
    {
#pragma omp for schedule(static)
        for (int64_t o = 0; o < CO; ++o)
            for (int64_t k = 0; k < CI * 3; ++k) packed[(o / MR * CI * 3 + k) * MR + o % MR] = weight[o * CI * 3 + k];
        std::vector<float> window(CI * STRIDE);
        float block[MR][WIDTH];
#pragma omp for schedule(static)
        for (int64_t task = 0; task < B * parts; ++task) {
            const int64_t b = task / parts, l0 = task % parts * WIDTH, width = std::min(WIDTH, L - l0);
            const int64_t from = std::max<int64_t>(l0 - 1, 0), to = std::min(l0 + WIDTH + 1, L);
            for (int64_t i = 0; i < CI; ++i) {
                float* row = window.data() + i * STRIDE;
                std::memset(row, 0, STRIDE * sizeof(float));
                std::memcpy(row + (from - l0 + 1), x + (b * CI + i) * L + from, (to - from) * sizeof(float));
            }
            for (int64_t g = 0; g < groups; ++g) {
                for (int64_t i = 0; i == 0 || i < CI; i += CHAIN)
                    tile(packed.data() + (g * CI + i) * 3 * MR, window.data() + i * STRIDE, biases.data() + g * MR,
                         std::min(CHAIN, CI - i), block, i > 0);
                for (int64_t r = 0; r < std::min<int64_t>(MR, CO - g * MR); ++r)
                    std::memcpy(out + (b * CO + g * MR + r) * L + l0, block[r], width * sizeof(float));
            }
        }
    }
    return 0;
}
