// recipe: scalar
// family: gated_delta_packed_decode
// summary: the definition, one (sequence, value head) after another, each row of the state read twice
// dtype: float32
// knob ACC = double float
// order: 10
#include <cmath>
#include <cstdint>
#include <vector>
#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int gated_delta_packed_decode(const float* mixed_qkv, const float* a, const float* b, const float* A_log,
                                         const float* dt_bias, float* state, const int32_t* indices, float* out,
                                         int64_t B, int64_t H, int64_t HV, int64_t K, int64_t V, int64_t S,
                                         int64_t SP, int64_t QP, int64_t AP, int64_t BP) {
    (void)S;
    const float scale = 1.0f / std::sqrt(static_cast<float>(K));
#pragma omp parallel num_threads(KE_THREADS)
    {
        std::vector<float> q(K), k(K);
#pragma omp for schedule(static)
        for (int64_t task = 0; task < B * HV; ++task) {
            const int64_t n = task / HV, hv = task % HV, h = hv / (HV / H);
            float* o = out + task * V;
            if (indices[n] < 0) {
                for (int64_t v = 0; v < V; ++v) o[v] = 0.0f;
                continue;
            }
            const float* qkv = mixed_qkv + n * QP;
            ACC q2 = 0, k2 = 0;
            for (int64_t i = 0; i < K; ++i) {
                q[i] = qkv[h * K + i];
                k[i] = qkv[(H + h) * K + i];
                q2 += static_cast<ACC>(q[i]) * q[i];
                k2 += static_cast<ACC>(k[i]) * k[i];
            }
            const float q_norm = scale / std::sqrt(static_cast<float>(q2) + 1e-6f);
            const float k_norm = 1.0f / std::sqrt(static_cast<float>(k2) + 1e-6f);
            for (int64_t i = 0; i < K; ++i) {
                q[i] *= q_norm;
                k[i] *= k_norm;
            }
            const float x = a[n * AP + hv] + dt_bias[hv];
            const float softplus = x > 20.0f ? x : std::log1p(std::exp(x));
            const float decay = std::exp(-std::exp(A_log[hv]) * softplus);
            const float beta = 1.0f / (1.0f + std::exp(-b[n * BP + hv]));
            float* head = state + indices[n] * SP + hv * V * K;
            for (int64_t v = 0; v < V; ++v) {
                float* row = head + v * K;
                ACC seen = 0, result = 0;
                for (int64_t i = 0; i < K; ++i) seen += static_cast<ACC>(row[i] * decay) * k[i];
                const float u = beta * (qkv[2 * H * K + hv * V + v] - static_cast<float>(seen));
                for (int64_t i = 0; i < K; ++i) {
                    row[i] = row[i] * decay + u * k[i];
                    result += static_cast<ACC>(row[i]) * q[i];
                }
                o[v] = static_cast<float>(result);
            }
        }
    }
    return 0;
}
