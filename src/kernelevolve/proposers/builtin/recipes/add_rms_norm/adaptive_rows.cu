// recipe: adaptive_rows
// family: add_rms_norm
// summary: 32 to THREADS threads a row by its length, the sum in registers until it is normed
// isa: sm_90
// dtype: bfloat16 float16 float32
// knob THREADS = 256 128 512
// knob VECTORS = 4 2 1
// knob BLOCKS_PER_SM = 8 4 16
// order: 20
//
// Rows that do not start on 16 bytes, or are longer than THREADS threads hold, are read a second time.
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

__device__ __forceinline__ void row_in_registers(const real* __restrict__ x, real* __restrict__ residual,
                                                 const real* __restrict__ weight, real* __restrict__ out, bool active,
                                                 int C, int lane, int lanes, int turn) {
    uint4 raw[VECTORS], add[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int c = (k * lanes + lane) * VEC;
        const bool inside = active && c < C;
        raw[k] = inside ? __ldcs(reinterpret_cast<const uint4*>(x + c)) : uint4{0, 0, 0, 0};
        add[k] = inside ? __ldcs(reinterpret_cast<const uint4*>(residual + c)) : uint4{0, 0, 0, 0};
        if (c < C) asm volatile("prefetch.global.L2 [%0];" ::"l"(weight + c));  // no register to spare for them yet
    }
    float v[VECTORS][VEC], sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int c = (k * lanes + lane) * VEC;
        float a[VEC];
        unpack(raw[k], v[k]);
        unpack(add[k], a);
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            v[k][j] += a[j];
            sum += v[k][j] * v[k][j];
        }
        if (active && c < C) __stcs(reinterpret_cast<uint4*>(residual + c), pack(v[k]));
    }
    const float scale = rsqrtf(row_sum(sum, lanes, turn) / C + EPS);
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int c = (k * lanes + lane) * VEC;
        if (active && c < C) {
            float w[VEC];
            unpack(__ldg(reinterpret_cast<const uint4*>(weight + c)), w);
#pragma unroll
            for (int j = 0; j < VEC; ++j) v[k][j] *= scale * w[j];
            __stcs(reinterpret_cast<uint4*>(out + c), pack(v[k]));
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)
norm_rows(const real* __restrict__ x, real* __restrict__ residual, const real* __restrict__ weight,
          real* __restrict__ out, int R, int C) {
    int lanes = 32;
    while (lanes < THREADS && lanes * VECTORS * VEC < C) lanes *= 2;
    const bool held = C % VEC == 0 && C <= lanes * VECTORS * VEC;
    const int rows = THREADS / lanes, lane = threadIdx.x % lanes, own = threadIdx.x / lanes;
    int turn = 0;
    for (int r = blockIdx.x * rows; r < R; r += gridDim.x * rows, turn ^= 1) {
        const bool active = r + own < R;
        const long long at = (long long)(r + own) * C;
        if (held) {
            row_in_registers(x + at, residual + at, weight, out + at, active, C, lane, lanes, turn);
            continue;
        }
        float sum = 0.0f;
        if (active) {
#pragma unroll 4
            for (int c = lane; c < C; c += lanes) {
                const float v = wide(x[at + c]) + wide(residual[at + c]);
                sum += v * v;
            }
        }
        // The sum is normed before it is rounded, so it is made again from what it was made of.
        const float scale = rsqrtf(row_sum(sum, lanes, turn) / C + EPS);
        if (active) {
#pragma unroll 4
            for (int c = lane; c < C; c += lanes) {
                const float v = wide(x[at + c]) + wide(residual[at + c]);
                residual[at + c] = narrow(v);
                out[at + c] = narrow(v * scale * wide(weight[c]));
            }
        }
    }
}
