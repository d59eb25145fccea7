// recipe: column_partials
// family: rms_norm_backward
// summary: each thread sums its columns over the rows it takes part in; a second kernel sums over all groups of rows
// isa: sm_90
// dtype: bfloat16 float16 float32
// knob THREADS = 512 256 1024
// knob VECTORS = 2 1
// knob BLOCKS_PER_SM = 1 2 4
// order: 20
//
// A row has 32 to THREADS threads, by its length. The next row is read while the sums of this one travel. Rows that
// are longer than THREADS threads hold are read twice, and their column sums live in memory.
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

#define EPS 1e-6f

struct Sums {
    float squares, products;
};

// Over the `lanes` neighbouring threads of a row; `turn` alternates, so that one barrier a row is enough.
__device__ __forceinline__ Sums row_sums(Sums x, int lanes, int turn) {
    __shared__ Sums part[2][THREADS / 32];
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        x.squares += __shfl_xor_sync(~0u, x.squares, step);
        x.products += __shfl_xor_sync(~0u, x.products, step);
    }
    if (lanes == 32) return x;
    if (threadIdx.x % 32 == 0) part[turn][threadIdx.x / 32] = x;
    __syncthreads();
    const int warps = lanes / 32, first = threadIdx.x / lanes * warps;
    x = Sums{0.0f, 0.0f};
    for (int w = 0; w < warps; ++w) {
        x.squares += part[turn][first + w].squares;
        x.products += part[turn][first + w].products;
    }
    return x;
}

#define SINGLES 8  // numbers a thread holds of a row that does not start on 16 bytes

// Threads of a row; THREADS too when the row does not fit their registers.
__device__ __forceinline__ int lanes_of(int C) {
    const int each = C % VEC == 0 ? VECTORS * VEC : SINGLES;
    int lanes = 32;
    while (lanes < THREADS && lanes * each < C) lanes *= 2;
    return lanes;
}

struct Row {
    uint4 grad[VECTORS], x[VECTORS];
    __device__ __forceinline__ void load(const real* from_grad, const real* from_x, bool active, int C, int lanes) {
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) {
            const int c = (k * lanes + (int)threadIdx.x % lanes) * VEC;
            const bool inside = active && c < C;
            grad[k] = inside ? __ldcs(reinterpret_cast<const uint4*>(from_grad + c)) : uint4{0, 0, 0, 0};
            x[k] = inside ? __ldcs(reinterpret_cast<const uint4*>(from_x + c)) : uint4{0, 0, 0, 0};
        }
    }
};

// From the first-level cache each time: held in registers they would leave too few for the next row.
__device__ __forceinline__ void weights(const real* __restrict__ weight, int c, int C, float (&w)[VEC]) {
    unpack(c < C ? __ldg(reinterpret_cast<const uint4*>(weight + c)) : uint4{0, 0, 0, 0}, w);
}

__device__ __forceinline__ Sums sums_of(const Row& row, const real* __restrict__ weight, int C, int lanes) {
    Sums sums{0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        float g[VEC], v[VEC], w[VEC];
        unpack(row.grad[k], g);
        unpack(row.x[k], v);
        weights(weight, (k * lanes + (int)threadIdx.x % lanes) * VEC, C, w);
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            sums.squares += v[j] * v[j];
            sums.products += w[j] * g[j] * v[j];
        }
    }
    return sums;
}

__device__ void rows_in_registers(const real* __restrict__ grad, const real* __restrict__ x,
                                  const real* __restrict__ weight, real* __restrict__ grad_x,
                                  float* __restrict__ partial, int R, int C, int lanes) {
    const int rows = THREADS / lanes, lane = threadIdx.x % lanes, own = threadIdx.x / lanes;
    float column[VECTORS][VEC] = {};
    const int first = blockIdx.x * rows + own, step = gridDim.x * rows;
    Row row;
    row.load(grad + (long long)first * C, x + (long long)first * C, first < R, C, lanes);
    int turn = 0;
    for (int r = first; r - own < R; r += step, turn ^= 1) {  // as many rounds for all threads of a block
        const long long at = (long long)r * C, following = at + (long long)step * C;
        Row next;
        next.load(grad + following, x + following, r + step < R, C, lanes);
        const Sums sums = row_sums(sums_of(row, weight, C, lanes), lanes, turn);
        const float scale = rsqrtf(sums.squares / C + EPS), back = sums.products / C * scale * scale;
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) {
            const int c = (k * lanes + lane) * VEC;
            float g[VEC], v[VEC], w[VEC];
            unpack(row.grad[k], g);
            unpack(row.x[k], v);
            weights(weight, c, C, w);
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                column[k][j] += g[j] * (v[j] * scale);
                v[j] = (w[j] * g[j] - v[j] * back) * scale;
            }
            if (r < R && c < C) __stcs(reinterpret_cast<uint4*>(grad_x + at + c), pack(v));
        }
        row = next;
    }
    float* to = partial + (long long)first * C;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k)
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            const int c = (k * lanes + lane) * VEC + j;
            if (c < C) to[c] = column[k][j];
        }
}

__device__ __forceinline__ void load_singles(real (&g)[SINGLES], real (&v)[SINGLES], const real* __restrict__ grad,
                                             const real* __restrict__ x, bool active, int C, int lane, int lanes) {
#pragma unroll
    for (int k = 0; k < SINGLES; ++k) {
        const bool inside = active && k * lanes + lane < C;
        g[k] = inside ? grad[k * lanes + lane] : narrow(0.0f);
        v[k] = inside ? x[k * lanes + lane] : narrow(0.0f);
    }
}

// As rows_in_registers, one number at a time.
__device__ void rows_of_singles(const real* __restrict__ grad, const real* __restrict__ x,
                                const real* __restrict__ weight, real* __restrict__ grad_x,
                                float* __restrict__ partial, int R, int C, int lanes) {
    const int rows = THREADS / lanes, lane = threadIdx.x % lanes, own = threadIdx.x / lanes;
    const int first = blockIdx.x * rows + own, step = gridDim.x * rows;
    float column[SINGLES] = {};
    real g[SINGLES], v[SINGLES], w[SINGLES];
#pragma unroll
    for (int k = 0; k < SINGLES; ++k) w[k] = k * lanes + lane < C ? weight[k * lanes + lane] : narrow(0.0f);
    load_singles(g, v, grad + (long long)first * C, x + (long long)first * C, first < R, C, lane, lanes);
    int turn = 0;
    for (int r = first; r - own < R; r += step, turn ^= 1) {
        const long long at = (long long)r * C, following = at + (long long)step * C;
        real next_g[SINGLES], next_v[SINGLES];
        load_singles(next_g, next_v, grad + following, x + following, r + step < R, C, lane, lanes);
        Sums sums{0.0f, 0.0f};
#pragma unroll
        for (int k = 0; k < SINGLES; ++k) {
            sums.squares += wide(v[k]) * wide(v[k]);
            sums.products += wide(w[k]) * wide(g[k]) * wide(v[k]);
        }
        sums = row_sums(sums, lanes, turn);
        const float scale = rsqrtf(sums.squares / C + EPS), back = sums.products / C * scale * scale;
#pragma unroll
        for (int k = 0; k < SINGLES; ++k) {
            const int c = k * lanes + lane;
            column[k] += wide(g[k]) * (wide(v[k]) * scale);
            if (r < R && c < C) grad_x[at + c] = narrow((wide(w[k]) * wide(g[k]) - wide(v[k]) * back) * scale);
            g[k] = next_g[k], v[k] = next_v[k];
        }
    }
#pragma unroll
    for (int k = 0; k < SINGLES; ++k)
        if (k * lanes + lane < C) partial[(long long)first * C + k * lanes + lane] = column[k];
}

__device__ void rows_from_memory(const real* __restrict__ grad, const real* __restrict__ x,
                                 const real* __restrict__ weight, real* __restrict__ grad_x, float* own, int R, int C) {
    int turn = 0;
    for (int r = blockIdx.x; r < R; r += gridDim.x, turn ^= 1) {
        const long long at = (long long)r * C;
        Sums sums{0.0f, 0.0f};
#pragma unroll 4
        for (int c = threadIdx.x; c < C; c += THREADS) {
            const float v = wide(x[at + c]);
            sums.squares += v * v;
            sums.products += wide(weight[c]) * wide(grad[at + c]) * v;
        }
        sums = row_sums(sums, THREADS, turn);
        const float scale = rsqrtf(sums.squares / C + EPS), back = sums.products / C * scale * scale;
        const bool first = r == (int)blockIdx.x;
#pragma unroll 4
        for (int c = threadIdx.x; c < C; c += THREADS) {
            const float v = wide(x[at + c]), g = wide(grad[at + c]);
            own[c] = (first ? 0.0f : own[c]) + g * (v * scale);
            grad_x[at + c] = narrow((wide(weight[c]) * g - v * back) * scale);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, THREADS * VECTORS < 1024 ? 1024 / (THREADS * VECTORS) : 1)
rows(const real* __restrict__ grad, const real* __restrict__ x, const real* __restrict__ weight,
     real* __restrict__ grad_x, float* partial, int R, int C) {
    const int lanes = lanes_of(C);
    if ((int)blockIdx.x * (THREADS / lanes) >= R) return;
    if (C % VEC == 0 && C <= lanes * VECTORS * VEC) rows_in_registers(grad, x, weight, grad_x, partial, R, C, lanes);
    else if (C % VEC != 0 && C <= lanes * SINGLES) rows_of_singles(grad, x, weight, grad_x, partial, R, C, lanes);
    else rows_from_memory(grad, x, weight, grad_x, partial + (long long)blockIdx.x * C, R, C);
}

// A block sums 32 columns over the groups of rows; those of blocks without a row have written nothing.
extern "C" __global__ void __launch_bounds__(512)
columns(const float* __restrict__ partial, real* __restrict__ grad_weight, int n_blocks, int R, int C) {
    __shared__ float part[16][33];
    const int lane = threadIdx.x % 32, group = threadIdx.x / 32, c = blockIdx.x * 32 + lane;
    const int rows = THREADS / lanes_of(C), n = min(n_blocks, (R + rows - 1) / rows) * rows;
    float sum = 0.0f;
    if (c < C) {
#pragma unroll 8
        for (int b = group; b < n; b += 16) sum += partial[(long long)b * C + c];
    }
    part[group][lane] = sum;
    __syncthreads();
    if (group == 0 && c < C) {
        for (int g = 1; g < 16; ++g) sum += part[g][lane];
        grad_weight[c] = narrow(sum);
    }
}
