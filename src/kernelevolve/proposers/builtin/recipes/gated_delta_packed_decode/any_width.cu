// recipe: any_width
// family: gated_delta_packed_decode
// summary: every K and V of the domain: a block takes a stretch of rows of one head, a warp a few rows at a time
// isa: sm_90
// dtype: bfloat16
// knob ROWS = 32 8 16 64 128
// knob WARPS = 4 2 8
// order: 10
//
// ROWS: of a block. q and k lie in shared memory as float32; the state is read once and kept in registers.

typedef unsigned short bf16;

__device__ __forceinline__ float wide(unsigned bits) { return __uint_as_float(bits << 16); }
__device__ __forceinline__ bf16 narrow(float x) {
    bf16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
__device__ __forceinline__ float total(float x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

struct Gates {
    float decay, beta, k_norm, q_norm, agree;
};

/// Rows first, first + WARPS, ... below last, AT_ONCE of them at a time. N times 32 lanes * WIDTH floats cover a row.
template <int N, int WIDTH, int AT_ONCE>
__device__ __forceinline__ void rows(const Gates& g, const float* q, const float* k, float* s, const bf16* v, bf16* o,
                                     int first, int last, int K, int lane) {
    for (int top = first; top < last; top += WARPS * AT_ONCE) {
        float x[AT_ONCE][N][WIDTH], value[AT_ONCE], sk[AT_ONCE], sq[AT_ONCE];
#pragma unroll
        for (int r = 0; r < AT_ONCE; ++r) {
            const int row = top + r * WARPS;
            value[r] = row < last ? wide(v[row]) : 0.0f;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const int i = (j * 32 + lane) * WIDTH;
                const bool there = row < last && i < K;
                const float* at = s + (long long)row * K + i;
                if (WIDTH == 4) {
                    const float4 y = there ? *reinterpret_cast<const float4*>(at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                    x[r][j][0] = y.x, x[r][j][1 % WIDTH] = y.y, x[r][j][2 % WIDTH] = y.z, x[r][j][3 % WIDTH] = y.w;
                } else {
                    x[r][j][0] = there ? *at : 0.0f;
                }
            }
        }
#pragma unroll
        for (int r = 0; r < AT_ONCE; ++r) {
            sk[r] = sq[r] = 0.0f;
#pragma unroll
            for (int j = 0; j < N; ++j)
#pragma unroll
                for (int w = 0; w < WIDTH; ++w) {  // beyond K q and k are 0
                    const int i = (j * 32 + lane) * WIDTH + w;
                    sk[r] = fmaf(x[r][j][w], k[i], sk[r]), sq[r] = fmaf(x[r][j][w], q[i], sq[r]);
                }
        }
#pragma unroll
        for (int r = 0; r < AT_ONCE; ++r) sk[r] = total(sk[r]), sq[r] = total(sq[r]);
#pragma unroll
        for (int r = 0; r < AT_ONCE; ++r) {
            const int row = top + r * WARPS;
            if (row >= last) break;
            const float u = g.beta * (value[r] - g.decay * g.k_norm * sk[r]), push = u * g.k_norm;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const int i = (j * 32 + lane) * WIDTH;
                if (i >= K) continue;
                float* at = s + (long long)row * K + i;
                float y[WIDTH];
#pragma unroll
                for (int w = 0; w < WIDTH; ++w) y[w] = fmaf(g.decay, x[r][j][w], push * k[i + w]);
                if (WIDTH == 4)
                    *reinterpret_cast<float4*>(at) = make_float4(y[0], y[1 % WIDTH], y[2 % WIDTH], y[3 % WIDTH]);
                else
                    *at = y[0];
            }
            if (lane == 0) o[row] = narrow(fmaf(u, g.agree, g.decay * g.q_norm * sq[r]));
        }
    }
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, 1)
any_width(const bf16* __restrict__ mixed_qkv, const bf16* __restrict__ a, const bf16* __restrict__ b,
          const float* __restrict__ A_log, const float* __restrict__ dt_bias, float* state,
          const int* __restrict__ indices, bf16* __restrict__ out, int B, int H, int HV, int K, int V,
          long long SP, long long QP, long long AP, long long BP) {
    __shared__ __align__(16) float q[1024], k[1024];
    const int n_chunks = (V + ROWS - 1) / ROWS, hv = blockIdx.x / n_chunks, chunk = blockIdx.x % n_chunks;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, h = hv / (HV / H);
    const int low = chunk * ROWS, high = low + ROWS < V ? low + ROWS : V;
    for (int n = blockIdx.y; n < B; n += gridDim.y) {
        const int slot = indices[n];
        const long long head = (long long)n * HV + hv;
        bf16* o = out + head * V;
        if (slot < 0) {
            for (int row = low + threadIdx.x; row < high; row += WARPS * 32) o[row] = 0;
            continue;
        }
        const bf16* qkv = mixed_qkv + n * QP;
        const bf16 *q_at = qkv + (long long)h * K, *k_at = q_at + (long long)H * K;
        const bf16* v = qkv + 2LL * H * K + (long long)hv * V;
        __syncthreads();  // the row before this one is done with q and k
        for (int i = threadIdx.x; i < 1024; i += WARPS * 32) {
            q[i] = i < K ? wide(q_at[i]) : 0.0f;
            k[i] = i < K ? wide(k_at[i]) : 0.0f;
        }
        const float gate = wide(a[n * AP + hv]) + dt_bias[hv], a_log = A_log[hv], b_value = wide(b[n * BP + hv]);
        __syncthreads();
        float qq = 0.0f, kk = 0.0f, kq = 0.0f;
        for (int i = lane; i < K; i += 32) {
            qq = fmaf(q[i], q[i], qq), kk = fmaf(k[i], k[i], kk), kq = fmaf(k[i], q[i], kq);
        }
        Gates g;
        g.k_norm = rsqrtf(total(kk) + 1e-6f), g.q_norm = rsqrtf(total(qq) + 1e-6f) * rsqrtf((float)K);
        g.agree = total(kq) * g.k_norm * g.q_norm;
        const float softplus = gate > 20.0f ? gate : log1pf(expf(gate));
        g.decay = expf(-expf(a_log) * softplus);
        g.beta = 1.0f / (1.0f + expf(-b_value));
        float* s = state + slot * SP + (long long)hv * V * K;
        if (K % 4 == 0) {
            if (K <= 128)
                rows<1, 4, 4>(g, q, k, s, v, o, low + warp, high, K, lane);
            else if (K <= 256)
                rows<2, 4, 2>(g, q, k, s, v, o, low + warp, high, K, lane);
            else
                rows<8, 4, 1>(g, q, k, s, v, o, low + warp, high, K, lane);
        } else if (K <= 128) {
            rows<4, 1, 4>(g, q, k, s, v, o, low + warp, high, K, lane);
        } else {
            rows<32, 1, 1>(g, q, k, s, v, o, low + warp, high, K, lane);
        }
    }
}
