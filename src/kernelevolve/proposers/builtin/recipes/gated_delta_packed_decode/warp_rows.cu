// recipe: warp_rows
// family: gated_delta_packed_decode
// summary: K = V = 128: each warp holds a few rows in registers, all loads are under way before any arithmetic
// isa: sm_90
// dtype: bfloat16
// where: K = 128
// where: V = 128
// knob LANES = 8 16 32
// knob ROWS = 2 4
// knob WARPS = 4 1 2
// knob EARLY = 0 1
// knob LOAD = 2 1
// knob STORE = 1 3
// order: 20
//
// LANES lanes share a row, each lane has ROWS of them. Both dot products come from the state as loaded:
//   S' = d*S + u k^T,  u = beta*(v - d*(S k)),  out = d*(S q) + u*(k.q)
// so the sums do not wait for each other, and 1/|q|, 1/|k| are scalars that join at the end.

#define GROUPS (32 / LANES)
#define VECTORS (32 / LANES)       /* float4 of a lane in one row of 128 */
#define UNITS (128 / (GROUPS * ROWS)) /* warps of a head */

#if LOAD == 1
#define LD "ld.global.cs.v4.f32"
#elif LOAD == 2
#define LD "ld.global.L1::no_allocate.v4.f32"
#elif LOAD == 3
#define LD "ld.global.L1::no_allocate.L2::256B.v4.f32"
#else
#define LD "ld.global.v4.f32"
#endif
#if STORE == 1
#define ST "st.global.cs.v4.f32"
#elif STORE == 2
#define ST "st.global.wt.v4.f32"
#elif STORE == 3
#define ST "st.global.L1::no_allocate.v4.f32"
#else
#define ST "st.global.v4.f32"
#endif

// What does not depend on the slot's number must be under way before the wait for it. The assembler moves ordinary
// loads down behind that wait, to where they are used; relaxed ones it leaves alone, but they pass by the L1 cache.
#if EARLY
#define EARLY_LD "ld.relaxed.gpu.global"
#else
#define EARLY_LD "ld.global.nc"
#endif

typedef unsigned short bf16;

// A predicate, not a branch: a branch would end the block in which the loads can be put in order.
__device__ __forceinline__ float4 load_state(const float* p, int slot) {
    float4 x = {0.0f, 0.0f, 0.0f, 0.0f};
    asm volatile("{ .reg .pred p;\n setp.ge.s32 p, %5, 0;\n @p " LD " {%0, %1, %2, %3}, [%4]; }"
                 : "+f"(x.x), "+f"(x.y), "+f"(x.z), "+f"(x.w)
                 : "l"(p), "r"(slot));
    return x;
}
__device__ __forceinline__ void store_state(float* p, float4 x) {
    asm volatile(ST " [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w) : "memory");
}
__device__ __forceinline__ unsigned load_word(const void* p) {
    unsigned x;
    asm volatile(EARLY_LD ".b32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ uint2 load_pair(const void* p) {
    uint2 x;
    asm volatile(EARLY_LD ".v2.b32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(p));
    return x;
}
__device__ __forceinline__ unsigned load_half(const bf16* p) {
    bf16 x;
    asm volatile(EARLY_LD ".b16 %0, [%1];" : "=h"(x) : "l"(p));
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
__device__ __forceinline__ float dot(float4 a, float4 b, float sum) {
    return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
}
__device__ __forceinline__ float total(float x) {  // over the lanes of a row
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, 1)
warp_rows(const bf16* __restrict__ mixed_qkv, const bf16* __restrict__ a, const bf16* __restrict__ b,
          const float* __restrict__ A_log, const float* __restrict__ dt_bias, float* state,
          const int* __restrict__ indices, bf16* __restrict__ out, int B, int H, int HV,
          long long SP, long long QP, long long AP, long long BP) {
    const int unit = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    const int hv = unit / UNITS, row = (unit % UNITS * GROUPS + lane / LANES) * ROWS, part = lane % LANES;
    if (hv >= HV) return;
    for (int n = blockIdx.y; n < B; n += gridDim.y) {
        const int slot = (int)load_word(indices + n);  // first of all: the state waits for it
        const int h = hv / (HV / H);
        const long long head = (long long)n * HV + hv;
        const bf16* qkv = mixed_qkv + n * QP;
        uint2 q_bits[VECTORS], k_bits[VECTORS];
#pragma unroll
        for (int j = 0; j < VECTORS; ++j) {
            q_bits[j] = load_pair(qkv + h * 128 + (j * LANES + part) * 4);
            k_bits[j] = load_pair(qkv + (H + h) * 128 + (j * LANES + part) * 4);
        }
        const bf16* v_at = qkv + (2 * H + hv) * 128 + row;
        float v[ROWS];
#if ROWS == 1
        v[0] = wide(load_half(v_at));
#else
#pragma unroll
        for (int r = 0; r < ROWS; r += 2) {
            const unsigned two = load_word(v_at + r);
            v[r] = wide(two), v[r + 1] = __uint_as_float(two & 0xffff0000u);
        }
#endif
        const float a_log = __uint_as_float(load_word(A_log + hv)), bias = __uint_as_float(load_word(dt_bias + hv));
        const unsigned a_bits = load_half(a + n * AP + hv), b_bits = load_half(b + n * BP + hv);
        bf16* o = out + head * 128 + row;
        float* s = state + slot * SP + (hv * 128 + row) * 128 + part * 4;
        float4 x[ROWS][VECTORS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int j = 0; j < VECTORS; ++j) x[r][j] = load_state(s + r * 128 + j * LANES * 4, slot);

        if (slot < 0) {
            if (part == 0)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) o[r] = 0;
            continue;
        }
        float4 q[VECTORS], k[VECTORS];
        float qq = 0.0f, kk = 0.0f, kq = 0.0f;
#pragma unroll
        for (int j = 0; j < VECTORS; ++j) {
            q[j] = wide4(q_bits[j]), k[j] = wide4(k_bits[j]);
            qq = dot(q[j], q[j], qq), kk = dot(k[j], k[j], kk), kq = dot(k[j], q[j], kq);
        }
        qq = total(qq), kk = total(kk), kq = total(kq);
        const float k_norm = rsqrtf(kk + 1e-6f), q_norm = rsqrtf(qq + 1e-6f) * 0.08838834764831845f;
        const float gate = wide(a_bits) + bias;
        const float softplus = gate > 20.0f ? gate : log1pf(expf(gate));
        const float decay = expf(-expf(a_log) * softplus);
        const float beta = reciprocal(1.0f + expf(-wide(b_bits)));
        const float k_seen = decay * k_norm, q_seen = decay * q_norm, agree = kq * k_norm * q_norm;

        float sk[ROWS], sq[ROWS], answer[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            sk[r] = sq[r] = 0.0f;
#pragma unroll
            for (int j = 0; j < VECTORS; ++j) sk[r] = dot(x[r][j], k[j], sk[r]), sq[r] = dot(x[r][j], q[j], sq[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sk[r] = total(sk[r]), sq[r] = total(sq[r]);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const float u = beta * (v[r] - k_seen * sk[r]), push = u * k_norm;
#pragma unroll
            for (int j = 0; j < VECTORS; ++j) {
                float4 y = x[r][j];
                y.x = fmaf(decay, y.x, push * k[j].x), y.y = fmaf(decay, y.y, push * k[j].y);
                y.z = fmaf(decay, y.z, push * k[j].z), y.w = fmaf(decay, y.w, push * k[j].w);
                store_state(s + r * 128 + j * LANES * 4, y);
            }
            answer[r] = fmaf(u, agree, q_seen * sq[r]);
        }
        if (part != 0) continue;
#if ROWS == 1
        o[0] = narrow(answer[0]);
#else
#pragma unroll
        for (int r = 0; r < ROWS; r += 2)
            *reinterpret_cast<unsigned*>(o + r) = narrow(answer[r]) | (unsigned)narrow(answer[r + 1]) << 16;
#endif
    }
}
