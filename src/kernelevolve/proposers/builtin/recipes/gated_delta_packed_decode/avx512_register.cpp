// recipe: avx512_register
// family: gated_delta_packed_decode
// summary: a row lives in registers from its one load to its one store; k and q too where they fit
// isa: avx512f avx512dq
// dtype: float32
// knob ROWS = 1 2 4
// knob AHEAD = 0 8 16 32
// knob STREAM = 0 1
// knob ANSWER = split updated
// order: 30
#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <vector>
#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

enum Answer { split, updated };  // decay*(S q) + u*(k q), or the dot product with the updated row

struct Job {
    const float *k, *q, *v;
    float *s, *o;
    int64_t K;
    float decay, beta, kq;
    bool stream;
};

inline __mmask16 mask_at(int64_t i, int64_t n) {
    return n - i >= 16 ? static_cast<__mmask16>(0xffff) : static_cast<__mmask16>((1u << (n - i)) - 1u);
}

float dot(const float* x, const float* y, int64_t n) {
    __m512 sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < n; i += 16) {
        const __mmask16 mask = mask_at(i, n);
        sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, x + i), _mm512_maskz_loadu_ps(mask, y + i), sum);
    }
    return _mm512_reduce_add_ps(sum);
}

/// R rows of exactly KV vectors.
template <int KV, int R>
inline void rows(const Job& j, int64_t v) {
    __m512 x[R][KV];
    const __m512 decay = _mm512_set1_ps(j.decay);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
        const float* row = j.s + (v + r) * j.K;
        __m512 k_sum = _mm512_setzero_ps(), q_sum = _mm512_setzero_ps();
#pragma GCC unroll 16
        for (int c = 0; c < KV; ++c) {
            if (AHEAD) _mm_prefetch(reinterpret_cast<const char*>(row + AHEAD * j.K + 16 * c), _MM_HINT_T0);
            x[r][c] = _mm512_mul_ps(_mm512_loadu_ps(row + 16 * c), decay);
            k_sum = _mm512_fmadd_ps(x[r][c], _mm512_load_ps(j.k + 16 * c), k_sum);
            if (ANSWER == split) q_sum = _mm512_fmadd_ps(x[r][c], _mm512_load_ps(j.q + 16 * c), q_sum);
        }
        const float u = j.beta * (j.v[v + r] - _mm512_reduce_add_ps(k_sum));
        const __m512 uu = _mm512_set1_ps(u);
        float* target = j.s + (v + r) * j.K;
#pragma GCC unroll 16
        for (int c = 0; c < KV; ++c) {
            const __m512 y = _mm512_fmadd_ps(uu, _mm512_load_ps(j.k + 16 * c), x[r][c]);
            if (ANSWER == updated) q_sum = _mm512_fmadd_ps(y, _mm512_load_ps(j.q + 16 * c), q_sum);
            if (j.stream)
                _mm512_stream_ps(target + 16 * c, y);
            else
                _mm512_storeu_ps(target + 16 * c, y);
        }
        const float answer = _mm512_reduce_add_ps(q_sum);
        j.o[v + r] = ANSWER == split ? answer + u * j.kq : answer;
    }
}

/// One row of any length.
inline void any_row(const Job& j, int64_t v) {
    float* row = j.s + v * j.K;
    const __m512 decay = _mm512_set1_ps(j.decay);
    __m512 k_sum = _mm512_setzero_ps(), q_sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < j.K; i += 16) {
        const __m512 x = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask_at(i, j.K), row + i), decay);
        k_sum = _mm512_fmadd_ps(x, _mm512_load_ps(j.k + i), k_sum);
    }
    const __m512 u = _mm512_set1_ps(j.beta * (j.v[v] - _mm512_reduce_add_ps(k_sum)));
    for (int64_t i = 0; i < j.K; i += 16) {
        const __mmask16 mask = mask_at(i, j.K);
        const __m512 x = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, row + i), decay);
        const __m512 y = _mm512_fmadd_ps(u, _mm512_load_ps(j.k + i), x);
        q_sum = _mm512_fmadd_ps(y, _mm512_load_ps(j.q + i), q_sum);
        _mm512_mask_storeu_ps(row + i, mask, y);
    }
    j.o[v] = _mm512_reduce_add_ps(q_sum);
}

template <int KV>
void head(const Job& j, int64_t V) {
    int64_t v = 0;
    for (; v + ROWS <= V; v += ROWS) rows<KV, ROWS>(j, v);
    for (; v < V; ++v) rows<KV, 1>(j, v);
}

}  // namespace

extern "C" int gated_delta_packed_decode(const float* mixed_qkv, const float* a, const float* b, const float* A_log,
                                         const float* dt_bias, float* state, const int32_t* indices, float* out,
                                         int64_t B, int64_t H, int64_t HV, int64_t K, int64_t V, int64_t S,
                                         int64_t SP, int64_t QP, int64_t AP, int64_t BP) {
    (void)S;
    const int64_t padded = (K + 15) / 16 * 16;
    const float scale = 1.0f / std::sqrt(static_cast<float>(K));
    const int n_threads = B * HV * V * K < 32768 ? 1 : KE_THREADS;
#pragma omp parallel num_threads(n_threads)
    {
        std::vector<float> memory(2 * padded + 16, 0.0f);
        float* k = memory.data() + (-(reinterpret_cast<uintptr_t>(memory.data()) / 4) & 15);
        float* q = k + padded;
#pragma omp for schedule(static, 1)
        for (int64_t task = 0; task < B * HV; ++task) {
            const int64_t n = task / HV, hv = task % HV, h = hv / (HV / H);
            if (indices[n] < 0) {
                for (int64_t v = 0; v < V; ++v) out[task * V + v] = 0.0f;
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
            j.s = state + indices[n] * SP + hv * V * K, j.o = out + task * V;
            j.decay = std::exp(-std::exp(A_log[hv]) * softplus);
            j.beta = 1.0f / (1.0f + std::exp(-b[n * BP + hv]));
            j.kq = dot(k, q, K);
            j.stream = STREAM && K % 16 == 0 && reinterpret_cast<uintptr_t>(j.s) % 64 == 0;
            if (K == 128)
                head<8>(j, V);
            else if (K == 64)
                head<4>(j, V);
            else
                for (int64_t v = 0; v < V; ++v) any_row(j, v);
        }
        _mm_sfence();
    }
    return 0;
}
