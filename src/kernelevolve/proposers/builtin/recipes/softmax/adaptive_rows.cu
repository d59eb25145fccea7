// recipe: adaptive_rows
// family: softmax
// summary: 32 to THREADS threads a row by its length, the row in registers; longer ones in two passes, the first online
// isa: sm_90
// dtype: bfloat16 float16 float32
// knob THREADS = 512 256 1024 128
// knob VECTORS = 4 2 1
// knob BLOCKS_PER_SM = 2 1 4 8
// order: 20
//
// The next row is read while this one is worked on. Rows that do not start on 16 bytes, or are longer than THREADS threads hold, are read twice.
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

#define LOG2E 1.4426950408889634f
#define LOWEST (-3.402823466e38f)

struct Total {
    float top, sum;  // the largest value, the sum of exp(x - top)
};

__device__ __forceinline__ float power(float x, float top) { return exp2f((x - top) * LOG2E); }

__device__ __forceinline__ Total join(Total a, Total b) {
    const float top = fmaxf(a.top, b.top);
    return Total{top, a.sum * power(a.top, top) + b.sum * power(b.top, top)};
}

// Over the `lanes` neighbouring threads of a row, one total a warp; `turn` alternates, so that one barrier a row is enough.
__device__ __forceinline__ Total over_warps(Total x, int lanes, int turn) {
    __shared__ Total part[2][THREADS / 32];
    if (lanes == 32) return x;
    if (threadIdx.x % 32 == 0) part[turn][threadIdx.x / 32] = x;
    __syncthreads();
    const int warps = lanes / 32, first = threadIdx.x / lanes * warps;
    x = part[turn][first];
    for (int w = 1; w < warps; ++w) x = join(x, part[turn][first + w]);
    return x;
}

__device__ __forceinline__ Total row_total(Total x, int lanes, int turn) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        x = join(x, Total{__shfl_xor_sync(~0u, x.top, step), __shfl_xor_sync(~0u, x.sum, step)});
    return over_warps(x, lanes, turn);
}

__device__ __forceinline__ void take(Total& total, const float* x, int n) {
    float top = total.top;
    for (int j = 0; j < n; ++j) top = fmaxf(top, x[j]);
    float sum = total.sum * power(total.top, top);
    for (int j = 0; j < n; ++j) sum += power(x[j], top);
    total = Total{top, sum};
}

__device__ __forceinline__ void load(uint4 (&raw)[VECTORS], const real* __restrict__ from, bool active, int C,
                                     int lane, int lanes) {
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int c = (k * lanes + lane) * VEC;
        raw[k] = active && c < C ? __ldcs(reinterpret_cast<const uint4*>(from + c)) : uint4{0, 0, 0, 0};
    }
}

__device__ __forceinline__ void row_in_registers(const uint4 (&raw)[VECTORS], real* __restrict__ to, bool active, int C,
                                                 int lane, int lanes, int turn) {
    Total total{LOWEST, 0.0f};
    float v[VECTORS][VEC];
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        unpack(raw[k], v[k]);
        if ((k * lanes + lane) * VEC < C) {
#pragma unroll
            for (int j = 0; j < VEC; ++j) total.top = fmaxf(total.top, v[k][j]);
        }
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) total.top = fmaxf(total.top, __shfl_xor_sync(~0u, total.top, step));
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        if ((k * lanes + lane) * VEC < C) {
#pragma unroll
            for (int j = 0; j < VEC; ++j) total.sum += v[k][j] = power(v[k][j], total.top);
        }
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) total.sum += __shfl_xor_sync(~0u, total.sum, step);
    const Total whole = over_warps(total, lanes, turn);
    const float scale = power(total.top, whole.top) / whole.sum;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int c = (k * lanes + lane) * VEC;
        if (active && c < C) {
#pragma unroll
            for (int j = 0; j < VEC; ++j) v[k][j] *= scale;
            __stcs(reinterpret_cast<uint4*>(to + c), pack(v[k]));
        }
    }
}

#define AHEAD 2  // vectors in flight

__device__ __forceinline__ Total total_of(const real* __restrict__ from, int C, int lane, int lanes) {
    Total total{LOWEST, 0.0f};
    if (C % VEC != 0) {
        for (int c = lane; c < C; c += lanes) {
            const float x = wide(from[c]);
            take(total, &x, 1);
        }
        return total;
    }
    for (int base = lane * VEC; base < C; base += lanes * VEC * AHEAD) {
        uint4 raw[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (base + k * lanes * VEC < C) raw[k] = *reinterpret_cast<const uint4*>(from + base + k * lanes * VEC);
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (base + k * lanes * VEC < C) {
                float x[VEC];
                unpack(raw[k], x);
                take(total, x, VEC);
            }
    }
    return total;
}

__device__ __forceinline__ void write_row(const real* __restrict__ from, real* __restrict__ to, Total total, int C,
                                          int lane, int lanes) {
    const float scale = 1.0f / total.sum;
    if (C % VEC != 0) {
        for (int c = lane; c < C; c += lanes) to[c] = narrow(power(wide(from[c]), total.top) * scale);
        return;
    }
    for (int base = lane * VEC; base < C; base += lanes * VEC * AHEAD) {
        uint4 raw[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (base + k * lanes * VEC < C)
                raw[k] = __ldcs(reinterpret_cast<const uint4*>(from + base + k * lanes * VEC));
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (base + k * lanes * VEC < C) {
                float x[VEC];
                unpack(raw[k], x);
#pragma unroll
                for (int j = 0; j < VEC; ++j) x[j] = power(x[j], total.top) * scale;
                __stcs(reinterpret_cast<uint4*>(to + base + k * lanes * VEC), pack(x));
            }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS)
softmax(const real* __restrict__ x, real* __restrict__ out, int R, int C) {
    int lanes = 32;
    while (lanes < THREADS && lanes * VECTORS * VEC < C) lanes *= 2;
    const bool held = C % VEC == 0 && C <= lanes * VECTORS * VEC;
    const int rows = THREADS / lanes, lane = threadIdx.x % lanes, own = threadIdx.x / lanes;
    const int step = gridDim.x * rows;
    int turn = 0;
    if (held) {
        uint4 raw[VECTORS];
        const long long first = (long long)blockIdx.x * rows + own;
        load(raw, x + first * C, first < R, C, lane, lanes);
        for (long long r = first; r - own < R; r += step, turn ^= 1) {
            uint4 next[VECTORS];
            load(next, x + (r + step) * C, r + step < R, C, lane, lanes);
            row_in_registers(raw, out + r * C, r < R, C, lane, lanes, turn);
#pragma unroll
            for (int k = 0; k < VECTORS; ++k) raw[k] = next[k];
        }
        return;
    }
    for (int r = blockIdx.x * rows; r < R; r += step, turn ^= 1) {
        const bool active = r + own < R;
        const real* from = x + (long long)(r + own) * C;
        real* to = out + (long long)(r + own) * C;
        const Total total = row_total(active ? total_of(from, C, lane, lanes) : Total{LOWEST, 0.0f}, lanes, turn);
        if (active) write_row(from, to, total, C, lane, lanes);
    }
}
