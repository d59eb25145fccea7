// recipe: direct_avx512
// family: conv1d
// summary: direct convolution: packed weights and window, MR channels x NV vectors kept in registers over CI x 3
// isa: avx512f
// dtype: float32
// knob MR = 8 6 12 4
// knob NV = 3 4 2
// knob SHIFTED = 0 1
// knob DYNAMIC = 0 1
// order: 30
//
// SHIFTED: 1 packs one aligned window per tap, 0 loads three unaligned views of one window.
// DYNAMIC: 1 hands (sample, block) tasks out one by one, 0 splits them evenly.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

#if DYNAMIC
#define SCHEDULE schedule(dynamic, 2)
#else
#define SCHEDULE schedule(static)
#endif

struct Free {
    void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float[], Free>;
static Buffer make_buffer(int64_t n) { return Buffer((float*)std::aligned_alloc(64, (n * 4 + 127) & ~int64_t(63))); }

static inline __mmask16 lanes_between(int64_t lo, int64_t hi) {  // lanes i with lo <= i < hi
    const auto below = [](int64_t n) { return n >= 16 ? 0xffffu : n <= 0 ? 0u : (1u << n) - 1; };
    return (__mmask16)(below(hi) & ~below(lo));
}

// Floats per channel of the window: WIDTH outputs need WIDTH + 2 inputs, or three copies of WIDTH.
static constexpr int64_t WIDTH = NV * 16, STRIDE = SHIFTED ? 3 * WIDTH : WIDTH + 16;

static void pack_window(const float* x, int64_t ci, int64_t length, int64_t l0, float* window) {
    for (int64_t i = 0; i < ci; ++i) {
        const float* row = x + i * length;
        float* to = window + i * STRIDE;
        if (SHIFTED) {
            for (int t = 0; t < 3; ++t)
                for (int64_t c = 0; c < WIDTH; c += 16) {
                    const int64_t at = l0 + c + t - 1;
                    const __mmask16 inside = lanes_between(-at, length - at);
                    _mm512_store_ps(to + t * WIDTH + c, _mm512_maskz_loadu_ps(inside, row + at));
                }
        } else {
            for (int64_t c = 0; c < STRIDE; c += 16) {
                const int64_t at = l0 + c - 1;
                _mm512_store_ps(to + c, _mm512_maskz_loadu_ps(lanes_between(-at, length - at), row + at));
            }
        }
    }
}

// Sums over channels are taken in pieces of CHAIN, which rounds less than one long chain.
static constexpr int64_t CHAIN = 128;

template <int V>
static void tile(const float* weights, const float* window, const float* bias, int64_t ci, float* out, int64_t length,
                 int64_t channels, int64_t width, bool add) {
    __m512 acc[MR][V];
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[r][v] = add ? _mm512_setzero_ps() : _mm512_set1_ps(bias[r]);
    for (int64_t i = 0; i < ci; ++i)
#pragma GCC unroll 3
        for (int t = 0; t < 3; ++t) {
            const float *w = weights + (i * 3 + t) * MR, *row = window + i * STRIDE + t * (SHIFTED ? WIDTH : 1);
            __m512 u[V];
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) u[v] = _mm512_loadu_ps(row + v * 16);
#pragma GCC unroll 16
            for (int r = 0; r < MR; ++r) {
                const __m512 g = _mm512_set1_ps(w[r]);
#pragma GCC unroll 4
                for (int v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(g, u[v], acc[r][v]);
            }
        }
    const __mmask16 last = lanes_between(0, width - (V - 1) * 16);
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r)
        if (r < channels) {
            float* o = out + r * length;
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) {
                const __mmask16 lanes = v == V - 1 ? last : (__mmask16)0xffff;
                if (add) acc[r][v] = _mm512_add_ps(acc[r][v], _mm512_maskz_loadu_ps(lanes, o + v * 16));
                _mm512_mask_storeu_ps(o + v * 16, lanes, acc[r][v]);
            }
        }
}

template <int V>
static inline void tile_of(int64_t vectors, const float* weights, const float* window, const float* bias, int64_t ci,
                           float* out, int64_t length, int64_t channels, int64_t width) {
    if constexpr (V > 1)
        if (vectors < V) return tile_of<V - 1>(vectors, weights, window, bias, ci, out, length, channels, width);
    for (int64_t i = 0; i == 0 || i < ci; i += CHAIN)
        tile<V>(weights + i * 3 * MR, window + i * STRIDE, bias, std::min(CHAIN, ci - i), out, length, channels, width,
                i > 0);
}

extern "C" int conv1d(const float* x, const float* weight, const float* bias, float* out, int64_t B, int64_t CI,
                      int64_t CO, int64_t L) {
    const int64_t groups = (CO + MR - 1) / MR, vectors = (L + 15) / 16, parts = (vectors + NV - 1) / NV;
    Buffer packed = make_buffer(groups * CI * 3 * MR), biases = make_buffer(groups * MR);
    std::fill(std::copy(bias, bias + CO, biases.get()), biases.get() + groups * MR, 0.f);
#pragma omp parallel num_threads(KE_THREADS)
    {
#pragma omp for schedule(static)
        for (int64_t g = 0; g < groups; ++g)
            for (int64_t r = 0; r < MR; ++r)
                for (int64_t k = 0; k < CI * 3; ++k)
                    packed[(g * CI * 3 + k) * MR + r] = g * MR + r < CO ? weight[(g * MR + r) * CI * 3 + k] : 0.f;
        Buffer window = make_buffer(CI * STRIDE);
#pragma omp for SCHEDULE
        for (int64_t task = 0; task < B * parts; ++task) {
            // Even split of the vectors: 13 vectors in tiles of 4 go as 4 3 3 3, never as 4 4 4 1.
            const int64_t b = task / parts, part = task % parts;
            const int64_t v0 = part * vectors / parts, v1 = (part + 1) * vectors / parts, l0 = v0 * 16;
            pack_window(x + b * CI * L, CI, L, l0, window.get());
            for (int64_t g = 0; g < groups; ++g)
                tile_of<NV>(v1 - v0, packed.get() + g * CI * 3 * MR, window.get(), biases.get() + g * MR, CI,
                            out + (b * CO + g * MR) * L + l0, L, CO - g * MR, std::min(L, v1 * 16) - l0);
        }
    }
    return 0;
}
