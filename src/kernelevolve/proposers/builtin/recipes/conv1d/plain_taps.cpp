// recipe: plain_taps
// family: conv1d
// summary: per output channel, add three shifted copies of every input row; plain loops over the length
// dtype: float32
// knob CHANNELS = 4 1 2 8
// knob LENGTH = 256 64 1024
// order: 10
//
// CHANNELS: output channels that share one pass over the input. LENGTH: positions per pass, so that rows stay near.
#include <algorithm>
#include <cstdint>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

// Sums over channels are taken in pieces, which rounds less than one long chain.
static constexpr int64_t CHAIN = 128;

extern "C" int conv1d(const float* x, const float* weight, const float* bias, float* out, int64_t B, int64_t CI,
                      int64_t CO, int64_t L) {
    const int64_t groups = (CO + CHANNELS - 1) / CHANNELS;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS)
    for (int64_t task = 0; task < B * groups; ++task) {
        const int64_t b = task / groups, o0 = task % groups * CHANNELS, count = std::min<int64_t>(CHANNELS, CO - o0);
        for (int64_t l0 = 0; l0 < L; l0 += LENGTH) {
            const int64_t l1 = std::min<int64_t>(l0 + LENGTH, L);
            const int64_t first = std::max<int64_t>(l0, 1), last = std::min(l1, L - 1);  // all three taps inside
            for (int64_t o = o0; o < o0 + count; ++o) std::fill_n(out + (b * CO + o) * L + l0, l1 - l0, bias[o]);
            for (int64_t i0 = 0; i0 < CI; i0 += CHAIN) {
                float part[CHANNELS][LENGTH] = {};
                for (int64_t i = i0; i < std::min(CI, i0 + CHAIN); ++i) {
                    const float* row = x + (b * CI + i) * L;
                    for (int64_t o = 0; o < count; ++o) {
                        const float* w = weight + ((o0 + o) * CI + i) * 3;
                        const float w0 = w[0], w1 = w[1], w2 = w[2];
                        float* to = part[o];
#pragma omp simd
                        for (int64_t l = first; l < last; ++l)
                            to[l - l0] += w0 * row[l - 1] + w1 * row[l] + w2 * row[l + 1];
                        if (l0 == 0) to[0] += w1 * row[0] + (L > 1 ? w2 * row[1] : 0.f);
                        if (l1 == L && L > 1) to[L - 1 - l0] += w0 * row[L - 2] + w1 * row[L - 1];
                    }
                }
                for (int64_t o = 0; o < count; ++o)
                    for (int64_t l = l0; l < l1; ++l) out[(b * CO + o0 + o) * L + l] += part[o][l - l0];
            }
        }
    }
    return 0;
}
