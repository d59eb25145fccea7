// recipe: adaptive_rows
// family: rms_norm
// summary: 32 to THREADS threads a row by its length, the row in registers between the sum and the result
// isa: sm_90
// dtype: bfloat16 float16 float32
// knob THREADS = 256 128 512
// knob VECTORS = 4 2 1
// knob BLOCKS_PER_SM = 8 4 16
// order: 20
//
// Rows that do not start on 16 bytes, or are longer than THREADS threads hold, are read twice.
#if defined(KE_DTYPE_bfloat16)
#include <cuda_bf16.h>
typedef __nv_bfloat16 real;
__device__ __forceinline__ float wide(real x) { return __bfloat162float(x); }
__device__ __forceinline__ real narrow(float x) { return __float2bfloat16_rn(x); }
#elif defined(KE_DTYPE_float16)
#include <cuda_fp16.h>
typedef __half real;
__device__ __forceinline__ float wide(real x) { return __half2float(x); }
__device__ __forceinline__ real narrow(float x) { return __float2half_rn(x); }
#else
typedef float real;
__device__ __forceinline__ float wide(real x) { return x; }
__device__ __forceinline__ real narrow(float x) { return x; }
#endif
#define VEC (16 / (int)sizeof(real))

__device__ __forceinline__ void unpack(const uint4& raw, float (&x)[VEC]) {
    const real* at = reinterpret_cast<const real*>(&raw);
#pragma unroll
    for (int k = 0; k < VEC; ++k) x[k] = wide(at[k]);
}

__device__ __forceinline__ uint4 pack(const float (&x)[VEC]) {
    uint4 raw;
    real* at = reinterpret_cast<real*>(&raw);
#pragma unroll
    for (int k = 0; k < VEC; ++k) at[k] = narrow(x[k]);
    return raw;
}

// Sum over the `lanes` neighbouring threads of a row; `turn` alternates, so that one barrier a row is enough.
__device__ __forceinline__ float row_sum(float x, int lanes, int turn) {
    __shared__ float part[2][THREADS / 32];
#pragma unroll
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
    if (lanes == 32) return x;
    if (threadIdx.x % 32 == 0) part[turn][threadIdx.x / 32] = x;
    __syncthreads();
    const int warps = lanes / 32, first = threadIdx.x / lanes * warps;
    x = 0.0f;
    for (int w = 0; w < warps; ++w) x += part[turn][first + w];
    return x;
}

#define EPS 1e-6f

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)
norm_rows(const real* __restrict__ x, const real* __restrict__ weight, real* __restrict__ out, int R, int C) {
    int lanes = 32;
    while (lanes < THREADS && lanes * VECTORS * VEC < C) lanes *= 2;
    const bool held = C % VEC == 0 && C <= lanes * VECTORS * VEC;
    const int rows = THREADS / lanes, lane = threadIdx.x % lanes, own = threadIdx.x / lanes;
    int turn = 0;
    for (int r = blockIdx.x * rows; r < R; r += gridDim.x * rows, turn ^= 1) {
        const bool active = r + own < R;
        const real* from = x + (long long)(r + own) * C;
        real* to = out + (long long)(r + own) * C;
        float sum = 0.0f;
        if (held) {
            uint4 raw[VECTORS], gain[VECTORS];  // the weights are on their way while the row is added up
#pragma unroll
            for (int k = 0; k < VECTORS; ++k) {
                const int c = (k * lanes + lane) * VEC;
                raw[k] = active && c < C ? __ldcs(reinterpret_cast<const uint4*>(from + c)) : uint4{0, 0, 0, 0};
                gain[k] = c < C ? __ldg(reinterpret_cast<const uint4*>(weight + c)) : uint4{0, 0, 0, 0};
            }
#pragma unroll
            for (int k = 0; k < VECTORS; ++k) {
                float v[VEC];
                unpack(raw[k], v);
#pragma unroll
                for (int j = 0; j < VEC; ++j) sum += v[j] * v[j];
            }
            const float scale = rsqrtf(row_sum(sum, lanes, turn) / C + EPS);
#pragma unroll
            for (int k = 0; k < VECTORS; ++k) {
                const int c = (k * lanes + lane) * VEC;
                if (active && c < C) {
                    float v[VEC], w[VEC];
                    unpack(raw[k], v);
                    unpack(gain[k], w);
#pragma unroll
                    for (int j = 0; j < VEC; ++j) v[j] *= scale * w[j];
                    __stcs(reinterpret_cast<uint4*>(to + c), pack(v));
                }
            }
        } else {
            if (active) {
#pragma unroll 4
                for (int c = lane; c < C; c += lanes) sum += wide(from[c]) * wide(from[c]);
            }
            const float scale = rsqrtf(row_sum(sum, lanes, turn) / C + EPS);
            if (active) {
#pragma unroll 4
                for (int c = lane; c < C; c += lanes) to[c] = narrow(wide(from[c]) * scale * wide(weight[c]));
            }
        }
    }
}
