// rms_norm_backward: step 17 of campaign rms_norm_backward-ace2ab
#define KE_DTYPE_bfloat16 1
#define THREADS 512
#define VECTORS 4
#define DEPTH 8
#define RING_KIB 100
#define BLOCKS_PER_SM 1
// recipe: bulk_rows
// family: rms_norm_backward
// summary: bulk copies bring rows into a ring in shared memory; column sums in registers, one partial sum a block
// isa: sm_90
// dtype: bfloat16 float16 float32
// knob THREADS = 512 384 256
// knob VECTORS = 4 2 3
// knob DEPTH = 8 4 3 2
// knob RING_KIB = 200 100
// knob BLOCKS_PER_SM = 1 2
// order: 15
//
// Up to DEPTH rows are on their way for each group of threads that shares a row, as RING_KIB allows. Rows that do not
// start on 16 bytes are copied from the 16 bytes before on. Rows too long for a block's registers are read twice.
#if defined(KE_DTYPE_bfloat16)
#include <cuda_bf16.h>
typedef __nv_bfloat16 real;
typedef __nv_bfloat162 real2;
__device__ __forceinline__ float wide(real x) { return __bfloat162float(x); }
__device__ __forceinline__ real narrow(float x) { return __float2bfloat16_rn(x); }
__device__ __forceinline__ real2 narrow2(float x, float y) { return __floats2bfloat162_rn(x, y); }
#elif defined(KE_DTYPE_float16)
#include <cuda_fp16.h>
typedef __half real;
typedef __half2 real2;
__device__ __forceinline__ float wide(real x) { return __half2float(x); }
__device__ __forceinline__ real narrow(float x) { return __float2half_rn(x); }
__device__ __forceinline__ real2 narrow2(float x, float y) { return __floats2half2_rn(x, y); }
#else
typedef float real;
typedef float2 real2;
__device__ __forceinline__ float wide(real x) { return x; }
__device__ __forceinline__ real narrow(float x) { return x; }
__device__ __forceinline__ real2 narrow2(float x, float y) { return real2{x, y}; }
#endif
#define SIZE ((int)sizeof(real))
#define VEC (16 / SIZE)
#define HELD (VECTORS * VEC) /* numbers of a row that a thread has */
#define SINGLES (HELD < 16 ? HELD : 16) /* where they are read one at a time */
#define EPS 1e-6f

__device__ __forceinline__ void unpack(const uint4& raw, float (&x)[VEC]) {
    const real* at = reinterpret_cast<const real*>(&raw);
#pragma unroll
    for (int k = 0; k < VEC; ++k) x[k] = wide(at[k]);
}

__device__ __forceinline__ uint4 pack(const float (&x)[VEC]) {
    uint4 raw;
    real2* at = reinterpret_cast<real2*>(&raw);
#pragma unroll
    for (int k = 0; k < VEC / 2; ++k) at[k] = narrow2(x[2 * k], x[2 * k + 1]);
    return raw;
}

// How a block shares its rows: `groups` of `lanes` threads, each with a ring of `stages` rows.
struct Shares {
    int lanes, groups, slot, stages;
    __device__ __forceinline__ explicit Shares(int C) {
        const int warp = 32 * (C % VEC == 0 ? HELD : SINGLES);
        lanes = (C + warp - 1) / warp * 32;
        groups = max(1, min(THREADS / lanes, lanes == 32 ? 32 : 15));  // barrier 0 is the block's
        slot = C % VEC == 0 ? C * SIZE : C * SIZE / 16 * 16 + 32;
        stages = min(DEPTH, RING_KIB * 1024 / (groups * 2 * slot));
    }
};

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void bulk_in(unsigned to, const void* from, int n_bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(n_bytes), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

__device__ __forceinline__ int shift_of(long long row, int C) { return (int)((unsigned long long)row * C % VEC); }

// The rows of one group: how they come in, and what its threads add up.
struct Group {
    const real *grad, *x;
    unsigned char* ring;
    unsigned barriers;
    int C, lanes, lane, slot, stages, number;

    __device__ __forceinline__ const real* stage(int s) const {
        return reinterpret_cast<const real*>(ring + s * 2 * slot);
    }

    __device__ __forceinline__ void fetch(int s, long long row) const {
        const int shift = shift_of(row, C), n_bytes = ((shift + C) * SIZE + 15) / 16 * 16;
        const long long at = row * C - shift;
        const unsigned to = shared_address(stage(s)), barrier = barriers + 8 * s;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(2 * n_bytes)
                     : "memory");
        bulk_in(to, grad + at, n_bytes, barrier);
        bulk_in(to + slot, x + at, n_bytes, barrier);
    }
    __device__ __forceinline__ void sync() const {
        if (lanes == 32) __syncwarp();
        else asm volatile("bar.sync %0, %1;" ::"r"(number + 1), "r"(lanes) : "memory");
    }
};

struct Sums {
    float squares, products;
};

// Over the threads of a group; `turn` alternates, so that one barrier a row is enough.
__device__ __forceinline__ Sums row_sums(Sums x, const Group& group, int turn) {
    __shared__ Sums part[2][THREADS / 32];
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        x.squares += __shfl_xor_sync(~0u, x.squares, step);
        x.products += __shfl_xor_sync(~0u, x.products, step);
    }
    if (group.lanes == 32) return x;
    if (threadIdx.x % 32 == 0) part[turn][threadIdx.x / 32] = x;
    group.sync();
    const int warps = group.lanes / 32, first = group.number * warps;
    x = Sums{0.0f, 0.0f};
    for (int w = first; w < first + warps; ++w) {
        x.squares += part[turn][w].squares;
        x.products += part[turn][w].products;
    }
    return x;
}

// scale of the row, and what of x comes off the gradient before scaling
__device__ __forceinline__ float2 factors(Sums sums, int C) {
    const float scale = rsqrtf(sums.squares / C + EPS);
    return float2{scale, sums.products / C * scale * scale};
}

// Keeps the compiler from holding on to what it has unpacked from these: registers are short.
__device__ __forceinline__ void forget(uint4& raw) {
    asm volatile("" : "+r"(raw.x), "+r"(raw.y), "+r"(raw.z), "+r"(raw.w));
}

// From the first-level cache each time.
__device__ __forceinline__ void weights(const real* __restrict__ weight, int c, int C, float (&w)[VEC]) {
    unpack(c < C ? __ldg(reinterpret_cast<const uint4*>(weight + c)) : uint4{0, 0, 0, 0}, w);
}

__device__ __forceinline__ void vector_rows(const Group& g, const real* weight,
                                            real* __restrict__ grad_x, float* sums_to, int first, int step, int n) {
    float column[VECTORS][VEC] = {};
    int s = 0;
    unsigned parity = 0;
    for (int i = 0; i < n; ++i) {
        const long long row = first + (long long)i * step;
        const uint4* grads = reinterpret_cast<const uint4*>(g.stage(s));
        const uint4* xs = reinterpret_cast<const uint4*>(g.ring + s * 2 * g.slot + g.slot);
        wait(g.barriers + 8 * s, parity);
        uint4 grad_raw[VECTORS], x_raw[VECTORS];
        Sums sums{0.0f, 0.0f};
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) {
            const int at = k * g.lanes + g.lane;
            const bool inside = at * VEC < g.C;
            grad_raw[k] = inside ? grads[at] : uint4{0, 0, 0, 0};
            x_raw[k] = inside ? xs[at] : uint4{0, 0, 0, 0};
        }
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) {
            float u[VEC], v[VEC], w[VEC];
            unpack(grad_raw[k], u);
            unpack(x_raw[k], v);
            weights(weight, (k * g.lanes + g.lane) * VEC, g.C, w);
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                sums.squares += v[j] * v[j];
                sums.products += w[j] * u[j] * v[j];
            }
        }
        sums = row_sums(sums, g, i % 2);  // all threads have read the stage when one knows the sums
        if (g.lane == 0 && i + g.stages < n) g.fetch(s, row + (long long)g.stages * step);
        const float2 by = factors(sums, g.C);
        asm volatile("" : "+l"(weight));
#pragma unroll
        for (int k = 0; k < VECTORS; ++k) {
            const int c = (k * g.lanes + g.lane) * VEC;
            forget(grad_raw[k]), forget(x_raw[k]);
            float u[VEC], v[VEC], w[VEC];
            unpack(grad_raw[k], u);
            unpack(x_raw[k], v);
            weights(weight, (k * g.lanes + g.lane) * VEC, g.C, w);
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                column[k][j] += u[j] * (v[j] * by.x);
                v[j] = (w[j] * u[j] - v[j] * by.y) * by.x;
            }
            if (c < g.C) __stcs(reinterpret_cast<uint4*>(grad_x + row * g.C + c), pack(v));
        }
        if (++s == g.stages) s = 0, parity ^= 1;
    }
    __syncthreads();  // the rings have become free
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const int c = (k * g.lanes + g.lane) * VEC;
#pragma unroll
        for (int j = 0; j < VEC; j += 4) {
            const float4 four{column[k][j], column[k][j + 1], column[k][j + 2], column[k][j + 3]};
            if (sums_to && c < g.C) *reinterpret_cast<float4*>(sums_to + c + j) = four;
        }
    }
}

// As vector_rows, one number at a time, read twice from shared memory.
__device__ __forceinline__ void single_rows(const Group& g, const real* weight, real* grad_x,
                                            float* sums_to, int first, int step, int n) {
    float column[SINGLES] = {};
    int s = 0;
    unsigned parity = 0;
    for (int i = 0; i < n; ++i) {
        const long long row = first + (long long)i * step;
        const int shift = shift_of(row, g.C);
        const real *grads = g.stage(s) + shift, *xs = g.stage(s) + g.slot / SIZE + shift;
        wait(g.barriers + 8 * s, parity);
        Sums sums{0.0f, 0.0f};
#pragma unroll
        for (int k = 0; k < SINGLES; ++k) {
            const int c = k * g.lanes + g.lane;
            if (c < g.C) {
                const float v = wide(xs[c]);
                sums.squares += v * v;
                sums.products += wide(__ldg(weight + c)) * wide(grads[c]) * v;
            }
        }
        sums = row_sums(sums, g, i % 2);
        const float2 by = factors(sums, g.C);
#pragma unroll
        for (int k = 0; k < SINGLES; ++k) {
            const int c = k * g.lanes + g.lane;
            if (c < g.C) {
                const float v = wide(xs[c]), u = wide(grads[c]);
                column[k] += u * (v * by.x);
                grad_x[row * g.C + c] = narrow((wide(__ldg(weight + c)) * u - v * by.y) * by.x);
            }
        }
        g.sync();
        if (g.lane == 0 && i + g.stages < n) g.fetch(s, row + (long long)g.stages * step);
        if (++s == g.stages) s = 0, parity ^= 1;
    }
    __syncthreads();  // the rings have become free
#pragma unroll
    for (int k = 0; k < SINGLES; ++k) {
        const int c = k * g.lanes + g.lane;
        if (sums_to && c < g.C) sums_to[c] = column[k];
    }
}

__device__ void rows_from_memory(const real* __restrict__ grad, const real* __restrict__ x,
                                 const real* __restrict__ weight, real* __restrict__ grad_x, float* own, int R, int C) {
    const Group whole{grad, x, nullptr, 0, C, THREADS, (int)threadIdx.x, 0, 0, 0};
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
        const float2 by = factors(row_sums(sums, whole, turn), C);
        const bool first = r == (int)blockIdx.x;
#pragma unroll 4
        for (int c = threadIdx.x; c < C; c += THREADS) {
            const float v = wide(x[at + c]), g = wide(grad[at + c]);
            own[c] = (first ? 0.0f : own[c]) + g * (v * by.x);
            grad_x[at + c] = narrow((wide(weight[c]) * g - v * by.y) * by.x);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
rows(const real* __restrict__ grad, const real* __restrict__ x, const real* __restrict__ weight,
     real* __restrict__ grad_x, float* partial, int R, int C) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ unsigned long long barriers[THREADS / 32 * DEPTH];
    if ((int)blockIdx.x >= R) return;
    float* own = partial + (long long)blockIdx.x * C;
    const Shares shares(C);
    if (shares.lanes > THREADS || shares.stages == 0) {
        rows_from_memory(grad, x, weight, grad_x, own, R, C);
        return;
    }
    if (threadIdx.x == 0) {
        for (int b = 0; b < shares.groups * shares.stages; ++b)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barriers + b)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    const int number = threadIdx.x / shares.lanes, lane = threadIdx.x - number * shares.lanes;
    const bool busy = number < shares.groups;
    const int first = number * (int)gridDim.x + blockIdx.x, step = shares.groups * gridDim.x;
    const int n = busy && first < R ? (R - 1 - first) / step + 1 : 0;
    const Group group{grad, x, memory + number * shares.stages * 2 * shares.slot,
                      shared_address(barriers + number * shares.stages), C, shares.lanes, lane, shares.slot,
                      shares.stages, number};
    if (lane == 0)
        for (int s = 0; s < min(n, shares.stages); ++s) group.fetch(s, first + (long long)s * step);
    float* sums = reinterpret_cast<float*>(memory);
    float* sums_to = busy ? sums + number * C : nullptr;
    if (C % VEC == 0) vector_rows(group, weight, grad_x, sums_to, first, step, n);
    else single_rows(group, weight, grad_x, sums_to, first, step, n);
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += THREADS) {
        float sum = 0.0f;
        for (int other = 0; other < shares.groups; ++other) sum += sums[other * C + c];
        own[c] = sum;
    }
}

// A block sums 32 columns over the blocks that had a row.
extern "C" __global__ void __launch_bounds__(512)
columns(const float* __restrict__ partial, real* __restrict__ grad_weight, int n_blocks, int R, int C) {
    __shared__ float part[16][33];
    const int lane = threadIdx.x % 32, group = threadIdx.x / 32, c = blockIdx.x * 32 + lane, n = min(n_blocks, R);
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
