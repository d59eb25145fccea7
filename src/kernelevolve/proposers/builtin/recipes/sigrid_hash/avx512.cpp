// recipe: avx512
// family: sigrid_hash
// summary: 8 ids per register; floor-mod by a quotient in double (RECIPROCAL 0) or by a high product (1)
// isa: avx512f avx512dq
// knob RECIPROCAL = 0 1
// knob SHIFTS_BY_PRODUCT = 0 1
// knob UNROLL = 2 1 4
// knob STREAM_OUT = 0 1
// knob PREFETCH_BYTES = 0 1024 4096
// knob MIN_PARALLEL = 4096 1024 32768
// order: 40
#include <algorithm>
#include <cstdint>
#include <immintrin.h>
#include <omp.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

struct Divisor {
    int64_t value;
    __m512i wide, reciprocal;
    __m512d inverse;
    explicit Divisor(int64_t divisor)
        : value(divisor), wide(_mm512_set1_epi64(divisor)),
          reciprocal(_mm512_set1_epi64(static_cast<int64_t>(~uint64_t{0} / static_cast<uint64_t>(divisor)))),
          inverse(_mm512_set1_pd(1.0 / static_cast<double>(divisor))) {}
};

inline __m512i hash(__m512i key, __m512i salt) {
    const __m512i multiplier = _mm512_set1_epi64(static_cast<int64_t>(0x9ddfea08eb382d69u));
    const auto add = [](__m512i a, __m512i b) { return _mm512_add_epi64(a, b); };
    const auto fold = [](__m512i a, __m512i b) { return _mm512_xor_si512(a, b); };
    // ~key is -1 - key; as a complement, compilers tie it to an old register and so to the round before
    key = _mm512_sub_epi64(_mm512_slli_epi64(key, 21), add(key, _mm512_set1_epi64(1)));
    key = fold(key, _mm512_srli_epi64(key, 24));
    key = SHIFTS_BY_PRODUCT ? _mm512_mullo_epi64(key, _mm512_set1_epi64(1 + 8 + 256))
                            : add(add(key, _mm512_slli_epi64(key, 3)), _mm512_slli_epi64(key, 8));
    key = fold(key, _mm512_srli_epi64(key, 14));
    key = SHIFTS_BY_PRODUCT ? _mm512_mullo_epi64(key, _mm512_set1_epi64(1 + 4 + 16))
                            : add(add(key, _mm512_slli_epi64(key, 2)), _mm512_slli_epi64(key, 4));
    key = fold(key, _mm512_srli_epi64(key, 28));
    key = add(key, _mm512_slli_epi64(key, 31));
    __m512i a = _mm512_mullo_epi64(fold(key, salt), multiplier);
    a = fold(a, _mm512_srli_epi64(a, 47));
    __m512i b = _mm512_mullo_epi64(fold(a, salt), multiplier);
    b = fold(b, _mm512_srli_epi64(b, 47));
    return _mm512_mullo_epi64(b, multiplier);
}

// Three roundings put the quotient q off by less than |q| 2^-51. Below |q| = 2^50 the nearest integer leaves a rest
// between -divisor and divisor; above, for divisors up to 2^13, that rest is reduced once more. The divisor is not 1.
template <bool kTwice>
inline __m512i by_double(__m512i h, const Divisor& divisor) {
    for (int round = 0; round < (kTwice ? 2 : 1); ++round) {
        const __m512d quotient = _mm512_mul_pd(_mm512_cvtepi64_pd(h), divisor.inverse);
        h = _mm512_sub_epi64(h, _mm512_mullo_epi64(_mm512_cvtpd_epi64(quotient), divisor.wide));
    }
    return _mm512_mask_add_epi64(h, _mm512_movepi64_mask(h), h, divisor.wide);
}

inline __m512i high_product(__m512i a, __m512i b) {
    const __m512i low = _mm512_set1_epi64(0xffffffff);
    const __m512i a1 = _mm512_srli_epi64(a, 32), b1 = _mm512_srli_epi64(b, 32);
    const __m512i a0b0 = _mm512_srli_epi64(_mm512_mul_epu32(a, b), 32);
    const __m512i middle = _mm512_add_epi64(_mm512_mul_epu32(a1, b), a0b0);
    const __m512i other = _mm512_add_epi64(_mm512_mul_epu32(a, b1), _mm512_and_si512(middle, low));
    const __m512i top = _mm512_add_epi64(_mm512_mul_epu32(a1, b1), _mm512_srli_epi64(middle, 32));
    return _mm512_add_epi64(top, _mm512_srli_epi64(other, 32));
}

// A negative h is -1 - a, whose rest is divisor - 1 - (a mod divisor). a < 2^63: the quotient is at most one too small.
inline __m512i by_high_product(__m512i h, const Divisor& divisor) {
    const __m512i sign = _mm512_srai_epi64(h, 63);
    const __m512i a = _mm512_xor_si512(h, sign);
    const __m512i quotient = high_product(a, divisor.reciprocal);
    const __m512i rest = _mm512_sub_epi64(a, _mm512_mullo_epi64(quotient, divisor.wide));
    const __m512i reduced = _mm512_min_epu64(rest, _mm512_sub_epi64(rest, divisor.wide));
    return _mm512_add_epi64(_mm512_xor_si512(reduced, sign), _mm512_and_si512(divisor.wide, sign));
}

template <bool kTwice>
inline __m512i one_register(__m512i ids, __m512i salt, const Divisor& divisor) {
    const __m512i h = hash(ids, salt);
    return RECIPROCAL == 0 ? by_double<kTwice>(h, divisor) : by_high_product(h, divisor);
}

template <bool kTwice>
void do_range(const int64_t* ids, int64_t salt_, const Divisor& divisor, int64_t* out, int64_t begin, int64_t end) {
    const __m512i salt = _mm512_set1_epi64(salt_);
    int64_t i = begin;
    for (; i + 8 * UNROLL <= end; i += 8 * UNROLL)
#pragma GCC unroll 4
        for (int u = 0; u < UNROLL; ++u) {
            const int64_t* from = ids + i + 8 * u;
            if (PREFETCH_BYTES > 0) _mm_prefetch(reinterpret_cast<const char*>(from) + PREFETCH_BYTES, _MM_HINT_T0);
            const __m512i result = one_register<kTwice>(_mm512_loadu_si512(from), salt, divisor);
#if STREAM_OUT
            if (reinterpret_cast<uintptr_t>(out) % 64 == 0) {
                _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i + 8 * u), result);
                continue;
            }
#endif
            _mm512_storeu_si512(out + i + 8 * u, result);
        }
    for (; i < end; i += 8) {
        const auto active = static_cast<__mmask8>(end - i >= 8 ? 0xff : (1 << (end - i)) - 1);
        const __m512i result = one_register<kTwice>(_mm512_maskz_loadu_epi64(active, ids + i), salt, divisor);
        _mm512_mask_storeu_epi64(out + i, active, result);
    }
}

}  // namespace

extern "C" int sigrid_hash(const int64_t* ids, int64_t salt, int64_t max_value, int64_t* out, int64_t N) {
    if (max_value == 1) {
        std::fill_n(out, N, int64_t{0});
        return 0;
    }
    const Divisor divisor(max_value);
#pragma omp parallel num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    {
        const int64_t part = omp_get_thread_num(), n_parts = omp_get_num_threads(), n_registers = (N + 7) / 8;
        const int64_t begin = n_registers * part / n_parts * 8;
        const int64_t end = std::min(N, n_registers * (part + 1) / n_parts * 8);
        if (max_value <= 8192) do_range<true>(ids, salt, divisor, out, begin, end);
        else do_range<false>(ids, salt, divisor, out, begin, end);
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    return 0;
}
