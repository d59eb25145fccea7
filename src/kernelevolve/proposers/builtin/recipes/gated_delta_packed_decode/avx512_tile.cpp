// recipe: avx512_tile
// family: gated_delta_packed_decode
// summary: tiles of rows stay in L1 between the dot sweep and the update sweep; 16-way transposed reductions
// isa: avx512f avx512dq
// dtype: float32
// knob TILE = 16 4 8 32
// knob AHEAD = 1 0 2 4
// knob STREAM = 0 1
// knob SCHEDULE = 1 0 2
// knob CHUNK = 0 32 64
// order: 40
#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <vector>
#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

struct Job {
    const float *k, *q, *v;  // normalised, zero-padded to whole vectors
    float *s, *o;
    int64_t K;
    float decay, beta, kq;
};

/// The sums of four vectors as one vector of four floats.
inline __m128 sums(const __m512* x) {
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(x[0], x[1]), _mm512_unpackhi_ps(x[0], x[1]));
    const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(x[2], x[3]), _mm512_unpackhi_ps(x[2], x[3]));
    const __m512d abd = _mm512_castps_pd(ab), cdd = _mm512_castps_pd(cd);
    const __m512 y = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(abd, cdd)),
                                   _mm512_castpd_ps(_mm512_unpackhi_pd(abd, cdd)));
    const __m256 z = _mm256_add_ps(_mm512_castps512_ps256(y), _mm512_extractf32x8_ps(y, 1));
    return _mm_add_ps(_mm256_castps256_ps128(z), _mm256_extractf128_ps(z, 1));
}

inline __mmask16 tail_mask(int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }

/// S k and S q of four rows; KV whole vectors per row when known at compile time, else 0.
template <int KV>
inline void dots(const Job& j, const float* const* row, float* sk, float* sq) {
    __m512 ak[4], aq[4];
    for (int r = 0; r < 4; ++r) ak[r] = aq[r] = _mm512_setzero_ps();
    const int64_t n = KV ? KV : j.K / 16;
#pragma GCC unroll 8
    for (int64_t c = 0; c < n; ++c) {
        const __m512 k = _mm512_load_ps(j.k + 16 * c), q = _mm512_load_ps(j.q + 16 * c);
        for (int r = 0; r < 4; ++r) {
            const __m512 x = _mm512_loadu_ps(row[r] + 16 * c);
            ak[r] = _mm512_fmadd_ps(x, k, ak[r]);
            aq[r] = _mm512_fmadd_ps(x, q, aq[r]);
        }
    }
    if (!KV && j.K % 16) {
        const __mmask16 mask = tail_mask(j.K % 16);
        for (int r = 0; r < 4; ++r) {
            const __m512 x = _mm512_maskz_loadu_ps(mask, row[r] + 16 * n);
            ak[r] = _mm512_fmadd_ps(x, _mm512_load_ps(j.k + 16 * n), ak[r]);
            aq[r] = _mm512_fmadd_ps(x, _mm512_load_ps(j.q + 16 * n), aq[r]);
        }
    }
    _mm_storeu_ps(sk, sums(ak));
    _mm_storeu_ps(sq, sums(aq));
}

template <int KV>
inline void update(const Job& j, float* row, float u, bool stream) {
    const __m512 decay = _mm512_set1_ps(j.decay), uu = _mm512_set1_ps(u);
    const int64_t n = KV ? KV : j.K / 16;
#pragma GCC unroll 8
    for (int64_t c = 0; c < n; ++c) {
        const __m512 x = _mm512_mul_ps(_mm512_loadu_ps(row + 16 * c), decay);
        const __m512 y = _mm512_fmadd_ps(uu, _mm512_load_ps(j.k + 16 * c), x);
        if (stream)
            _mm512_stream_ps(row + 16 * c, y);
        else
            _mm512_storeu_ps(row + 16 * c, y);
    }
    if (!KV && j.K % 16) {
        const __mmask16 mask = tail_mask(j.K % 16);
        const __m512 x = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, row + 16 * n), decay);
        _mm512_mask_storeu_ps(row + 16 * n, mask, _mm512_fmadd_ps(uu, _mm512_load_ps(j.k + 16 * n), x));
    }
}

template <int KV>
void head(const Job& j, int64_t low, int64_t high) {
    const bool stream = STREAM && j.K % 16 == 0 && reinterpret_cast<uintptr_t>(j.s) % 64 == 0;
    for (int64_t v = low; v < high; v += TILE) {
        const int n = static_cast<int>(high - v < TILE ? high - v : TILE);
        float sk[TILE], sq[TILE], u[TILE];
        for (int t = 0; t < n; t += 4) {
            const float* row[4];  // short tiles repeat their last row
            for (int r = 0; r < 4; ++r) row[r] = j.s + (v + (t + r < n ? t + r : n - 1)) * j.K;
            if (AHEAD && v + TILE * AHEAD + t + 4 <= high)
                for (int64_t c = 0; c < 4 * j.K; c += 16)
                    _mm_prefetch(reinterpret_cast<const char*>(row[0] + TILE * AHEAD * j.K + c), _MM_HINT_T0);
            dots<KV>(j, row, sk + t, sq + t);
        }
        for (int t = 0; t < n; ++t) {
            u[t] = j.beta * (j.v[v + t] - j.decay * sk[t]);
            j.o[v + t] = j.decay * sq[t] + u[t] * j.kq;
        }
        for (int t = 0; t < n; ++t) update<KV>(j, j.s + (v + t) * j.K, u[t], stream);
    }
}

float dot(const float* x, const float* y, int64_t n) {
    __m512 sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < n; i += 16) {
        const __mmask16 mask = n - i < 16 ? tail_mask(n - i) : static_cast<__mmask16>(0xffff);
        sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, x + i), _mm512_maskz_loadu_ps(mask, y + i), sum);
    }
    return _mm512_reduce_add_ps(sum);
}

}  // namespace

extern "C" int gated_delta_packed_decode(const float* mixed_qkv, const float* a, const float* b, const float* A_log,
                                         const float* dt_bias, float* state, const int32_t* indices, float* out,
                                         int64_t B, int64_t H, int64_t HV, int64_t K, int64_t V, int64_t S,
                                         int64_t SP, int64_t QP, int64_t AP, int64_t BP) {
    (void)S;
    const int64_t padded = (K + 15) / 16 * 16;
    // Too few heads for the threads: cut the rows of a head as well.
    int64_t chunk = CHUNK > 0 ? CHUNK : (B * HV < 2 * KE_THREADS ? (V + 2 * KE_THREADS - 1) / (2 * KE_THREADS) : V);
    chunk = chunk > 0 ? (chunk + 3) / 4 * 4 : 4;
    const int64_t n_chunks = (V + chunk - 1) / chunk, n_tasks = B * HV * n_chunks;
    const float scale = 1.0f / std::sqrt(static_cast<float>(K));
    const int n_threads = B * HV * V * K < 32768 ? 1 : KE_THREADS;
#pragma omp parallel num_threads(n_threads)
    {
        std::vector<float> memory(2 * padded + 16, 0.0f);
        float* k = memory.data() + (-(reinterpret_cast<uintptr_t>(memory.data()) / 4) & 15);
        float* q = k + padded;
#if SCHEDULE == 0
#pragma omp for schedule(static)
#elif SCHEDULE == 1
#pragma omp for schedule(static, 1)
#else
#pragma omp for schedule(dynamic, 2)
#endif
        for (int64_t task = 0; task < n_tasks; ++task) {
            const int64_t at = task / n_chunks, n = at / HV, hv = at % HV, h = hv / (HV / H);
            const int64_t low = (task % n_chunks) * chunk, high = low + chunk < V ? low + chunk : V;
            if (indices[n] < 0) {
                for (int64_t v = low; v < high; ++v) out[at * V + v] = 0.0f;
                continue;
            }
            const float* q_in = mixed_qkv + n * QP + h * K;
            const float* k_in = q_in + H * K;
            const float q_norm = scale / std::sqrt(dot(q_in, q_in, K) + 1e-6f);
            const float k_norm = 1.0f / std::sqrt(dot(k_in, k_in, K) + 1e-6f);
            for (int64_t i = 0; i < K; ++i) {
                q[i] = q_in[i] * q_norm;
                k[i] = k_in[i] * k_norm;
            }
            const float x = a[n * AP + hv] + dt_bias[hv];
            const float softplus = x > 20.0f ? x : std::log1p(std::exp(x));
            Job j;
            j.k = k, j.q = q, j.v = mixed_qkv + n * QP + 2 * H * K + hv * V, j.K = K;
            j.s = state + indices[n] * SP + hv * V * K, j.o = out + at * V;
            j.decay = std::exp(-std::exp(A_log[hv]) * softplus);
            j.beta = 1.0f / (1.0f + std::exp(-b[n * BP + hv]));
            j.kq = dot(k, q, K);
            if (K == 128)
                head<8>(j, low, high);
            else if (K == 64)
                head<4>(j, low, high);
            else if (K == 256)
                head<16>(j, low, high);
            else
                head<0>(j, low, high);
        }
        _mm_sfence();
    }
    return 0;
}
