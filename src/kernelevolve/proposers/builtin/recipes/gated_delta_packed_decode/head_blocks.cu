// recipe: head_blocks
// family: gated_delta_packed_decode
// summary: K = V = 128: a block per head walks down its state in address order, a row for each load of a warp
// isa: sm_90
// dtype: bfloat16
// where: K = 128
// where: V = 128
// knob WARPS = 8 4
// knob ROWS = 4 8 2 16
// knob SPLIT = 1 2 4
// knob AHEAD = 0 1
// knob SHARE = 0 1
// knob RESIDENT = 32 40
// knob STORE = 2
// order: 17
//
// Both dot products come from the state as loaded: S' = d*S + u k^T, u = beta*(v - d*(S k)), out = d*(S q) + u*(k.q).
// What all warps of a head need comes through the L1 cache, which the state passes by: numbers that every warp asks the
// L2 for make single slices of it the bottleneck of a large batch.
// SPLIT: blocks of one head. AHEAD: the next rows are under way while these are worked on. SHARE: one warp works out
// the gates and norms of the block. RESIDENT: warps that are to fit on a multiprocessor.

#define PART (128 / SPLIT)                                      /* rows of a block */
#define STEP (WARPS * ROWS)                                     /* rows of a pass */
#define PASSES (PART > STEP ? PART / STEP : 1)
#define STATE (ROWS * 4 * (AHEAD && PASSES > 1 ? 2 : 1))         /* registers of a lane */
#define ROOM (STATE > 64 ? 12 : STATE > 32 ? 16 : STATE > 16 ? 24 : RESIDENT) /* warps that fit without spilling */
#define FIT ((ROOM < RESIDENT ? ROOM : RESIDENT) / WARPS)

#if STORE == 1
#define ST "st.global.cs.v4.f32"
#elif STORE == 2
#define ST "st.global.L1::no_allocate.v4.f32"
#else
#define ST "st.global.v4.f32"
#endif

typedef unsigned short bf16;

// A predicate, not a branch: the loads of a pass stay together.
__device__ __forceinline__ float4 load_state(const float* p, int slot) {
    float4 x = {0.0f, 0.0f, 0.0f, 0.0f};
    asm volatile("{ .reg .pred p;\n setp.ge.s32 p, %5, 0;\n"
                 " @p ld.global.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                 : "+f"(x.x), "+f"(x.y), "+f"(x.z), "+f"(x.w)
                 : "l"(p), "r"(slot));
    return x;
}
__device__ __forceinline__ void store_state(float* p, float4 x) {
    asm volatile(ST " [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w) : "memory");
}
__device__ __forceinline__ unsigned load_word(const void* p) {
    unsigned x;
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ uint2 load_pair(const void* p) {
    uint2 x;
    asm volatile("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(p));
    return x;
}
__device__ __forceinline__ unsigned load_half(const bf16* p) {
    bf16 x;
    asm volatile("ld.global.nc.b16 %0, [%1];" : "=h"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ float wide(unsigned bits) { return __uint_as_float(bits << 16); }
__device__ __forceinline__ float4 wide4(uint2 x) {
    return make_float4(wide(x.x), __uint_as_float(x.x & 0xffff0000u), wide(x.y), __uint_as_float(x.y & 0xffff0000u));
}
__device__ __forceinline__ bf16 narrow(float x) {
    bf16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
__device__ __forceinline__ float dot(float4 a, float4 b) {
    return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, a.w * b.w)));
}
__device__ __forceinline__ float4 times(float4 a, float x) { return make_float4(a.x * x, a.y * x, a.z * x, a.w * x); }
__device__ __forceinline__ float total(float x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}
// Sums ROWS values over the warp; each lane is left with that of row lane % ROWS. Handing over half of the rows at
// every step takes ROWS - 1 exchanges, and log2(32 / ROWS) more bring the copies together.
__device__ __forceinline__ float total_of_own_row(float* s, int lane) {
#pragma unroll
    for (int half = ROWS / 2; half > 0; half /= 2) {
        const bool upper = lane & half;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const float keep = upper ? s[i + half] : s[i], give = upper ? s[i] : s[i + half];
            s[i] = keep + __shfl_xor_sync(0xffffffffu, give, half);
        }
    }
    float x = s[0];
#pragma unroll
    for (int step = ROWS; step < 32; step *= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

struct Gates {
    float decay, beta, k_norm, q_norm, kq;
};
struct Rows {
    float4 x[ROWS];
    unsigned v;  // of the lane's own row
};

__device__ __forceinline__ Gates gates_of(float4 q, float4 k, unsigned a, unsigned b, float a_log, float bias) {
    Gates g;
    g.k_norm = rsqrtf(total(dot(k, k)) + 1e-6f), g.q_norm = rsqrtf(total(dot(q, q)) + 1e-6f) * 0.08838834764831845f;
    g.kq = total(dot(k, q)) * g.k_norm * g.q_norm;
    const float gate = wide(a) + bias;
    const float softplus = gate > 20.0f ? gate : log1pf(expf(gate));
    g.decay = expf(-expf(a_log) * softplus);
    g.beta = __fdividef(1.0f, 1.0f + expf(-wide(b)));
    return g;
}
__device__ __forceinline__ void fetch(Rows& t, const float* home, const bf16* v, int slot) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) t.x[r] = load_state(home + r * 128, slot);
    t.v = load_half(v);
}
__device__ __forceinline__ void finish(Rows& t, float* home, bf16* out, float4 q, float4 k, const Gates& g, int lane) {
    float sk[ROWS], sq[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sk[r] = dot(t.x[r], k), sq[r] = dot(t.x[r], q);
    const float seen = total_of_own_row(sk, lane), answer = total_of_own_row(sq, lane);
    const float u = g.beta * (wide(t.v) - g.decay * seen);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float push = __shfl_sync(0xffffffffu, u, r);
        float4 y = t.x[r];
        y.x = fmaf(push, k.x, g.decay * y.x), y.y = fmaf(push, k.y, g.decay * y.y);
        y.z = fmaf(push, k.z, g.decay * y.z), y.w = fmaf(push, k.w, g.decay * y.w);
        store_state(home + r * 128, y);
    }
    if (lane < ROWS) *out = narrow(fmaf(u, g.kq, g.decay * answer));
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, FIT > 0 ? FIT : 1)
head_blocks(const bf16* __restrict__ mixed_qkv, const bf16* __restrict__ a, const bf16* __restrict__ b,
            const float* __restrict__ A_log, const float* __restrict__ dt_bias, float* state,
            const int* __restrict__ indices, bf16* __restrict__ out, int B, int H, int HV) {
#if SHARE
    __shared__ Gates shared_gates;
#endif
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, hv = blockIdx.x / SPLIT;
    const int row = blockIdx.x % SPLIT * PART + warp * ROWS;
    const bool idle = warp * ROWS >= PART;  // more warps than the block has rows for
    for (int n = blockIdx.y; n < B; n += gridDim.y) {
        const int slot = (int)load_word(indices + n);
        const int h = (unsigned)(hv * H) / (unsigned)HV;
        const long long head = (long long)n * HV + hv;
        const bf16* qkv = mixed_qkv + (long long)n * (2 * H + HV) * 128;
        float* home = state + (((long long)slot * HV + hv) * 128 + row) * 128 + lane * 4;
        const bf16* v = qkv + (2 * H + hv) * 128 + (idle ? 0 : row) + lane % ROWS;
        bf16* o = out + head * 128 + row + lane % ROWS;
        Rows t;
        fetch(t, home, v, idle ? -1 : slot);
        float4 q = wide4(load_pair(qkv + h * 128 + lane * 4));
        float4 k = wide4(load_pair(qkv + (H + h) * 128 + lane * 4));
        if (slot < 0) {  // the whole block
            if (!idle && lane < ROWS)
                for (int pass = 0; pass < PASSES; ++pass) o[pass * STEP] = 0;
            continue;
        }
#if SHARE
        if (n != (int)blockIdx.y) __syncthreads();  // until then some warp may still need the last ones
        if (warp == 0) {
            const Gates mine = gates_of(q, k, load_half(a + head), load_half(b + head),
                                        __uint_as_float(load_word(A_log + hv)), __uint_as_float(load_word(dt_bias + hv)));
            if (lane == 0) shared_gates = mine;
        }
        __syncthreads();
        const Gates g = shared_gates;
#else
        const Gates g = gates_of(q, k, load_half(a + head), load_half(b + head),
                                 __uint_as_float(load_word(A_log + hv)), __uint_as_float(load_word(dt_bias + hv)));
#endif
        if (idle) continue;
        q = times(q, g.q_norm), k = times(k, g.k_norm);
#if AHEAD
        Rows next;
#pragma unroll 1
        for (int left = PASSES;;) {
            if (left > 1) fetch(next, home + STEP * 128, v + STEP, slot);
            finish(t, home, o, q, k, g, lane);
            if (--left == 0) break;
            home += STEP * 128, v += STEP, o += STEP;
            if (left > 1) fetch(t, home + STEP * 128, v + STEP, slot);
            finish(next, home, o, q, k, g, lane);
            if (--left == 0) break;
            home += STEP * 128, v += STEP, o += STEP;
        }
#else
#pragma unroll 1
        for (int left = PASSES;;) {
            finish(t, home, o, q, k, g, lane);
            if (--left == 0) break;
            home += STEP * 128, v += STEP, o += STEP;
            fetch(t, home, v, slot);
        }
#endif
    }
}
