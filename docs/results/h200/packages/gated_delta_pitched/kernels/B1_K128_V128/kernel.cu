#define KE_DTYPE_bfloat16 1
#define WARPS 8
#define ROWS 8
#define SPLIT 4
#define AHEAD 1
#define SHARE 1
#define RESIDENT 40
#define STORE 2
// recipe: head_blocks
// family: gated_delta_packed_decode
// summary: K = V = 128: a block per head walks down its state in address order, a row for each load of a warp
// isa: sm_90
// dtype: bfloat16
// where: K = 128
// where: V = 128
// knob WARPS = 8 4
// knob ROWS = 8 4 2 16
// knob SPLIT = 4 1 2
// knob AHEAD = 1 0
// knob SHARE = 1 0
// knob RESIDENT = 40 32
// knob STORE = 2
// order: 17
//
// Both dot products come from the state as loaded: S' = d*S + u k^T, u = beta*(v - d*(S k)), out = d*(S q) + u*(k.q).
// What all warps of a head need comes through the L1 cache, which the state passes by, so that not every warp asks the
// same slices of the L2 for the same numbers.
// SPLIT: blocks of one head. AHEAD: the next rows are under way while these are worked on. SHARE: one warp loads keys
// and gates before the slot's number is there, and passes them on. RESIDENT: warps that are to fit on a multiprocessor.

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
// Relaxed loads stay where they are written; the assembler moves ordinary ones down, behind the wait for the slot's
// number. They pass by the L1, so they are for one warp of a block.
__device__ __forceinline__ unsigned early_word(const void* p) {
    unsigned x;
    asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ uint2 early_pair(const void* p) {
    uint2 x;
    asm volatile("ld.relaxed.gpu.global.v2.b32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(p));
    return x;
}
__device__ __forceinline__ unsigned early_half(const bf16* p) {
    bf16 x;
    asm volatile("ld.relaxed.gpu.global.b16 %0, [%1];" : "=h"(x) : "l"(p));
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
// Rounded as a division is, without its branch: one step of Newton's. x >= 1; of infinity it is 0.
__device__ __forceinline__ float reciprocal(float x) {
    x = fminf(x, 3.0e38f);
    const float y = __fdividef(1.0f, x);
    return fmaf(y, fmaf(-x, y, 1.0f), y);
}
__device__ __forceinline__ float dot(float4 a, float4 b) {
    return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, a.w * b.w)));
}
__device__ __forceinline__ float4 times(float4 a, float x) {
    return make_float4(a.x * x, a.y * x, a.z * x, a.w * x);
}
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
    float decay, beta, kq;
};
struct Small {  // what a head needs besides its state; q and k: of the lane
    uint2 q, k;
    unsigned a, b, a_log, bias;
};
struct Rows {
    float4 x[ROWS];
};

// q and k become unit vectors, q scaled.
__device__ __forceinline__ Gates gates_of(const Small& t, float4& q, float4& k) {
    Gates g;
    q = wide4(t.q), k = wide4(t.k);
    const float kk = total(dot(k, k)), qq = total(dot(q, q)), kq = total(dot(k, q));
    const float k_norm = rsqrtf(kk + 1e-6f), q_norm = rsqrtf(qq + 1e-6f) * 0.08838834764831845f;
    q = times(q, q_norm), k = times(k, k_norm);
    g.kq = kq * k_norm * q_norm;
    const float gate = wide(t.a) + __uint_as_float(t.bias);
    const float softplus = gate > 20.0f ? gate : log1pf(expf(gate));
    g.decay = expf(-expf(__uint_as_float(t.a_log)) * softplus);
    g.beta = reciprocal(1.0f + expf(-wide(t.b)));
    return g;
}
__device__ __forceinline__ void fetch(Rows& t, const float* home, int slot) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) t.x[r] = load_state(home + r * 128, slot);
}
// Returns the output of row lane % ROWS.
__device__ __forceinline__ float finish(Rows& t, float* home, float v, float4 q, float4 k, const Gates& g, int lane) {
    float sk[ROWS], sq[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sk[r] = dot(t.x[r], k), sq[r] = dot(t.x[r], q);
    const float seen = total_of_own_row(sk, lane), answer = total_of_own_row(sq, lane);
    const float u = g.beta * (v - g.decay * seen);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float push = __shfl_sync(0xffffffffu, u, r);
        float4 y = t.x[r];
        y.x = fmaf(g.decay, y.x, push * k.x), y.y = fmaf(g.decay, y.y, push * k.y);
        y.z = fmaf(g.decay, y.z, push * k.z), y.w = fmaf(g.decay, y.w, push * k.w);
        store_state(home + r * 128, y);
    }
    return fmaf(u, g.kq, g.decay * answer);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, FIT > 0 ? FIT : 1)
head_blocks(const bf16* __restrict__ mixed_qkv, const bf16* __restrict__ a, const bf16* __restrict__ b,
            const float* __restrict__ A_log, const float* __restrict__ dt_bias, float* state,
            const int* __restrict__ indices, bf16* __restrict__ out, int B, int H, int HV,
            long long SP, long long QP, long long AP, long long BP) {
#if SHARE
    __shared__ float4 shared_q[32], shared_k[32];
    __shared__ Gates shared_gates;
#endif
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, hv = blockIdx.x / SPLIT;
    const int row = blockIdx.x % SPLIT * PART + warp * ROWS;
    const bool idle = warp * ROWS >= PART;  // more warps than the block has rows for
    // Of the rows of a warp, at most 32, each lane has one: it loads the value and stores the output, for all passes.
    const int pass_of_own = lane / ROWS, own = row + pass_of_own * STEP + lane % ROWS;
    const bool owner = !idle && pass_of_own < PASSES;
    for (int n = blockIdx.y; n < B; n += gridDim.y) {
        const int slot = (int)load_word(indices + n);
        const int h = (unsigned)(hv * H) / (unsigned)HV;
        const long long head = (long long)n * HV + hv;
        const bf16* qkv = mixed_qkv + n * QP;
        float* home = state + slot * SP + (hv * 128 + row) * 128 + lane * 4;
        const bf16 *q_at = qkv + h * 128 + lane * 4, *k_at = q_at + H * 128;
        Small small = {};
#if SHARE
        if (warp == 0) {
            small.q = early_pair(q_at), small.k = early_pair(k_at);
            small.a = early_half(a + n * AP + hv), small.b = early_half(b + n * BP + hv);
            small.a_log = early_word(A_log + hv), small.bias = early_word(dt_bias + hv);
        }
#endif
        Rows t;
        fetch(t, home, idle ? -1 : slot);
        if (slot < 0) {  // the whole block
            if (owner) out[head * 128 + own] = 0;
            continue;
        }
        const float v = wide(load_half(qkv + (2 * H + hv) * 128 + (owner ? own : 0)));
        float4 q, k;
#if SHARE
        if (n != (int)blockIdx.y) __syncthreads();  // until then some warp may still need the last ones
        if (warp == 0) {
            const Gates mine = gates_of(small, q, k);
            shared_q[lane] = q, shared_k[lane] = k;
            if (lane == 0) shared_gates = mine;
        }
        __syncthreads();
        q = shared_q[lane], k = shared_k[lane];
        const Gates g = shared_gates;
#else
        small.q = load_pair(q_at), small.k = load_pair(k_at);
        small.a = load_half(a + n * AP + hv), small.b = load_half(b + n * BP + hv);
        small.a_log = load_word(A_log + hv), small.bias = load_word(dt_bias + hv);
        const Gates g = gates_of(small, q, k);
#endif
        if (idle) continue;
        float answer = 0.0f;
        int pass = 0;
        const auto work = [&](Rows& rows) {
            const float pass_v = __shfl_sync(0xffffffffu, v, pass * ROWS + lane % ROWS);
            const float row_answer = finish(rows, home, pass_v, q, k, g, lane);
            if (pass == pass_of_own) answer = row_answer;
            home += STEP * 128, ++pass;
        };
#if AHEAD
        Rows next;
#pragma unroll 1
        while (true) {
            if (pass + 1 < PASSES) fetch(next, home + STEP * 128, slot);
            work(t);
            if (pass == PASSES) break;
            if (pass + 1 < PASSES) fetch(t, home + STEP * 128, slot);
            work(next);
            if (pass == PASSES) break;
        }
#else
#pragma unroll 1
        while (true) {
            work(t);
            if (pass == PASSES) break;
            fetch(t, home, slot);
        }
#endif
        if (owner) out[head * 128 + own] = narrow(answer);
    }
}
