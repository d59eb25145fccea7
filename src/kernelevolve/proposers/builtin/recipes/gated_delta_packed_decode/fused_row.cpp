// recipe: fused_row
// family: gated_delta_packed_decode
// summary: portable vectors; both dot products come from one read of a row, out = decay*(S q) + u*(k q)
// dtype: float32
// knob LANES = 16 8 4
// knob ROWS = 4 1 2 8
// knob CHUNK = 0 32 64
// order: 20
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

typedef float Vec __attribute__((vector_size(LANES * 4)));

inline Vec load(const float* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
inline float total(Vec v) {
    float part[LANES];
    std::memcpy(part, &v, sizeof v);
    for (int step = LANES / 2; step > 0; step /= 2)
        for (int i = 0; i < step; ++i) part[i] += part[i + step];
    return part[0];
}
inline float dot(const float* x, const float* y, int64_t n) {
    Vec sum = {};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) sum += load(x + i) * load(y + i);
    float rest = 0.0f;
    for (; i < n; ++i) rest += x[i] * y[i];
    return total(sum) + rest;
}

struct Gates {
    float decay, beta, kq;
};

/// R consecutive rows of one state matrix: decay, predict, correct, answer.
template <int R>
inline void rows(float* s, const float* k, const float* q, const float* v, float* o, int64_t K, Gates g) {
    Vec sk[R] = {}, sq[R] = {};
    int64_t i = 0;
    for (; i + LANES <= K; i += LANES) {
        const Vec kk = load(k + i), qq = load(q + i);
        for (int r = 0; r < R; ++r) {
            const Vec x = load(s + r * K + i);
            sk[r] += x * kk;
            sq[r] += x * qq;
        }
    }
    float u[R];
    for (int r = 0; r < R; ++r) {
        float tail_k = 0.0f, tail_q = 0.0f;
        for (int64_t j = i; j < K; ++j) {
            tail_k += s[r * K + j] * k[j];
            tail_q += s[r * K + j] * q[j];
        }
        u[r] = g.beta * (v[r] - g.decay * (total(sk[r]) + tail_k));
        o[r] = g.decay * (total(sq[r]) + tail_q) + u[r] * g.kq;
    }
    for (int64_t j = 0; j + LANES <= K; j += LANES) {
        const Vec kk = load(k + j);
        for (int r = 0; r < R; ++r) store(s + r * K + j, load(s + r * K + j) * g.decay + kk * u[r]);
    }
    for (; i < K; ++i)
        for (int r = 0; r < R; ++r) s[r * K + i] = s[r * K + i] * g.decay + k[i] * u[r];
}

}  // namespace

extern "C" int gated_delta_packed_decode(const float* mixed_qkv, const float* a, const float* b, const float* A_log,
                                         const float* dt_bias, float* state, const int32_t* indices, float* out,
                                         int64_t B, int64_t H, int64_t HV, int64_t K, int64_t V, int64_t S,
                                         int64_t SP, int64_t QP, int64_t AP, int64_t BP) {
    (void)S;
    const int64_t chunk = CHUNK > 0 ? CHUNK : (V > 0 ? V : 1);
    const int64_t n_chunks = (V + chunk - 1) / chunk;
    const float scale = 1.0f / std::sqrt(static_cast<float>(K));
    const int n_threads = B * HV * V * K < 32768 ? 1 : KE_THREADS;
#pragma omp parallel num_threads(n_threads)
    {
        std::vector<float> q(K), k(K);
        // Cyclic: padded sequences cost nothing, so contiguous shares would be uneven.
#pragma omp for schedule(static, 1)
        for (int64_t task = 0; task < B * HV * n_chunks; ++task) {
            const int64_t head = task / n_chunks, n = head / HV, hv = head % HV, h = hv / (HV / H);
            const int64_t low = (task % n_chunks) * chunk, high = low + chunk < V ? low + chunk : V;
            float* o = out + head * V;
            if (indices[n] < 0) {
                for (int64_t v = low; v < high; ++v) o[v] = 0.0f;
                continue;
            }
            const float* q_in = mixed_qkv + n * QP + h * K;
            const float* k_in = q_in + H * K;
            const float* v_in = mixed_qkv + n * QP + 2 * H * K + hv * V;
            const float q_norm = scale / std::sqrt(dot(q_in, q_in, K) + 1e-6f);
            const float k_norm = 1.0f / std::sqrt(dot(k_in, k_in, K) + 1e-6f);
            for (int64_t i = 0; i < K; ++i) {
                q[i] = q_in[i] * q_norm;
                k[i] = k_in[i] * k_norm;
            }
            const float x = a[n * AP + hv] + dt_bias[hv];
            const float softplus = x > 20.0f ? x : std::log1p(std::exp(x));
            Gates g;
            g.decay = std::exp(-std::exp(A_log[hv]) * softplus);
            g.beta = 1.0f / (1.0f + std::exp(-b[n * BP + hv]));
            g.kq = dot(k.data(), q.data(), K);
            float* s = state + indices[n] * SP + hv * V * K;
            int64_t v = low;
            for (; v + ROWS <= high; v += ROWS) rows<ROWS>(s + v * K, k.data(), q.data(), v_in + v, o + v, K, g);
            for (; v < high; ++v) rows<1>(s + v * K, k.data(), q.data(), v_in + v, o + v, K, g);
        }
    }
    return 0;
}
