// recipe: count_borders_avx512
// family: merge_bucketized_dense
// summary: one value against 16 borders of its feature at once, popcount of the mask: for few samples per feature
// isa: avx512f
// knob UNROLL = 4 1 2 8
// knob MIN_PARALLEL = 16384 2048 131072
// order: 40
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

inline int64_t count(float value, __m512 borders, __mmask16 exists) {
    // NaN belongs above every border: "not at most" instead of "above"
    return __builtin_popcount(_mm512_mask_cmp_ps_mask(exists, _mm512_set1_ps(value), borders, _CMP_NLE_UQ));
}

void do_feature(const float* x, const float* borders, int64_t n_borders, int64_t shift, int64_t* out, int64_t N) {
    if (n_borders == 0) {
        std::fill_n(out, N, shift);
        return;
    }
    for (int64_t b = 0; b < n_borders; b += 16) {
        const int64_t left = std::min<int64_t>(16, n_borders - b);
        const auto exists = static_cast<__mmask16>((1u << left) - 1);
        const __m512 some = _mm512_maskz_loadu_ps(exists, borders + b);
        int64_t n = 0;
        for (; n + UNROLL <= N; n += UNROLL)
#pragma GCC unroll 8
            for (int u = 0; u < UNROLL; ++u)
                out[n + u] = (b == 0 ? shift : out[n + u]) + count(x[n + u], some, exists);
        for (; n < N; ++n) out[n] = (b == 0 ? shift : out[n]) + count(x[n], some, exists);
    }
}

}  // namespace

extern "C" int merge_bucketized_dense(const float* x, const float* borders, const int64_t* border_offsets, int64_t* out,
                                      int64_t F, int64_t N, int64_t) {
    // equal shares of features can be very unequal shares of work only if N is tiny: then nothing is worth a thread
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (F * N >= MIN_PARALLEL)
    for (int64_t f = 0; f < F; ++f) {
        const int64_t first = border_offsets[f];
        do_feature(x + f * N, borders + first, border_offsets[f + 1] - first, first + f, out + f * N, N);
    }
    return 0;
}
