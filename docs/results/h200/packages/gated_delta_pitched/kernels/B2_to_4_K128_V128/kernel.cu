#define KE_DTYPE_bfloat16 1
#define LANES 16
#define ROWS 8
#define WARPS 4
#define INDEX 1
#define TIGHT 1
#define PARTS 2
#define SORT 0
// recipe: one_wave
// family: gated_delta_packed_decode
// summary: K = V = 128: a warp holds a tile of 2 to 16 KB in registers; all in flight at once up to B*HV = 256
// isa: sm_90
// dtype: bfloat16
// where: K = 128
// where: V = 128
// knob LANES = 16 32
// knob ROWS = 8 4 2
// knob WARPS = 4 8 2 1
// knob INDEX = 1 2 0
// knob TIGHT = 1
// knob PARTS = 2 1 4
// knob SORT = 0 4
// order: 18
//
// Both dot products come from the state as loaded: S' = d*S + u k^T, u = beta*(v - d*(S k)), out = d*(S q) + u*(k.q).
// TIGHT: the compiler keeps to as many registers as let half of a multiprocessor's be state: 16 warps of 8 KB.
// INDEX 1: slot numbers through the L1, so that not every warp asks the L2; 2: everything but the state. PARTS: a tile's
// rows are finished in so many goes, each stored while the next ones are still on their way. SORT: sequences, up to 32
// times so many, are taken in the order of their slots.

#define GROUPS (32 / LANES)
#define VECTORS (32 / LANES)          /* float4 of a lane in one row of 128 */
#define UNITS (128 / (GROUPS * ROWS)) /* tiles of a head */
#define STATE (ROWS * VECTORS * 4)     /* registers of a lane */
#define GO (ROWS > PARTS ? ROWS / PARTS : 1) /* rows of a lane that are finished together */
#if TIGHT
#define FIT (STATE * WARPS > 512 ? 1 : STATE >= 64 ? 1024 / (STATE * WARPS) : 20 / WARPS)
#else
#define FIT 1
#endif

typedef unsigned short bf16;

// A predicate, not a branch: a branch would end the block in which the loads can be put in order.
__device__ __forceinline__ float4 load_state(const float* p, int slot) {
    float4 x = {0.0f, 0.0f, 0.0f, 0.0f};
    asm volatile("{ .reg .pred p;\n setp.ge.s32 p, %5, 0;\n @p ld.global.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                 : "+f"(x.x), "+f"(x.y), "+f"(x.z), "+f"(x.w)
                 : "l"(p), "r"(slot));
    return x;
}
__device__ __forceinline__ void store_state(float* p, float4 x) {
    asm volatile("st.global.L1::no_allocate.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x.x), "f"(x.y), "f"(x.z),
                 "f"(x.w)
                 : "memory");
}
// All warps want the same few numbers. Through the L1 cache they ask the L2 once per multiprocessor, not once per warp.
__device__ __forceinline__ int load_index(const int* p) {
    int x;
#if INDEX > 0
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(x) : "l"(p));
#else
    asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(p));
#endif
    return x;
}
// The row with the p-th smallest slot, and that slot: bit by bit from the top, by counting. Padding rows come last.
// Neighbouring blocks then work on neighbouring memory also where one sequence ends and the next begins.
__device__ __forceinline__ void in_order(const int* indices, int p, int B, int S, int& n, int& slot) {
#if SORT
    if (B <= SORT * 32) {
        const int lane = threadIdx.x % 32;
        unsigned key[SORT], found = 0;
#pragma unroll
        for (int i = 0; i < SORT; ++i) {
            const int row = i * 32 + lane, its_slot = row < B ? load_index(indices + row) : 0;
            key[i] = row >= B ? 0xffffffffu : its_slot < 0 ? (unsigned)(S + row) : (unsigned)its_slot;
        }
        for (int bit = 31 - __clz(S + B), left = p; bit >= 0; --bit) {
            int n_clear = 0;  // of those that agree with what is found so far
#pragma unroll
            for (int i = 0; i < SORT; ++i)
                if (i * 32 < B) n_clear += __popc(__ballot_sync(0xffffffffu, key[i] >> bit == found >> bit));
            if (left >= n_clear) left -= n_clear, found |= 1u << bit;
        }
#pragma unroll
        for (int i = 0; i < SORT; ++i) {
            const unsigned here = __ballot_sync(0xffffffffu, key[i] == found);
            if (here) n = i * 32 + __ffs(here) - 1;
        }
        slot = found < (unsigned)S ? (int)found : -1;
        return;
    }
#endif
    n = p, slot = load_index(indices + p);
}
// Relaxed loads stay where they are written; the assembler moves ordinary ones down to where they are used, behind the
// wait for the slot's number. But relaxed ones pass by the L1, and many warps then ask few slices of the L2.
#if INDEX == 2
#define SMALL_LD "ld.global.nc"
#else
#define SMALL_LD "ld.relaxed.gpu.global"
#endif
__device__ __forceinline__ unsigned load_word(const void* p) {
    unsigned x;
    asm volatile(SMALL_LD ".b32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ uint2 load_pair(const void* p) {
    uint2 x;
    asm volatile(SMALL_LD ".v2.b32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(p));
    return x;
}
__device__ __forceinline__ unsigned load_half(const bf16* p) {
    bf16 x;
    asm volatile(SMALL_LD ".b16 %0, [%1];" : "=h"(x) : "l"(p));
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
// By hand: the compiler would skip the logarithm with a branch, which ends the block in which it may be moved forward.
__device__ __forceinline__ float first_above_20(float x, float otherwise) {
    float y;
    asm("{ .reg .pred p; setp.gt.f32 p, %1, 0f41A00000; selp.f32 %0, %1, %2, p; }" : "=f"(y) : "f"(x), "f"(otherwise));
    return y;
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
// Sums GO values over the lanes of a group; each lane is left with that of row part % GO. Handing over half of
// the rows at every step takes GO - 1 exchanges where summing row by row takes GO * log2(LANES).
__device__ __forceinline__ float total_of_own_row(float* s, int part) {
#pragma unroll
    for (int half = GO / 2; half > 0; half /= 2) {
        const bool upper = part & half;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const float keep = upper ? s[i + half] : s[i], give = upper ? s[i] : s[i + half];
            s[i] = keep + __shfl_xor_sync(0xffffffffu, give, half);
        }
    }
    float x = s[0];
#pragma unroll
    for (int step = GO; step < LANES; step *= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

struct Tile {
    uint2 q[VECTORS], k[VECTORS];
    unsigned v, a, b;
    float a_log, bias;
    int slot;
    bf16* out;
    float* home;
    float4 x[ROWS][VECTORS];
};

// The lanes of a group hold ROWS rows, GROUPS apart, so that a load of the warp takes neighbouring rows.
__device__ __forceinline__ void fetch(Tile& t, const bf16* mixed_qkv, const bf16* a, const bf16* b, const float* A_log,
                                      const float* dt_bias, float* state, bf16* out, int slot, int n, int hv, int piece,
                                      int H, int HV, long long SP, long long QP, long long AP, long long BP) {
    const int lane = threadIdx.x % 32, part = lane % LANES, row = piece * (GROUPS * ROWS) + lane / LANES;
    const int h = (unsigned)(hv * H) / (unsigned)HV;
    const long long head = (long long)n * HV + hv;
    const bf16* qkv = mixed_qkv + n * QP;
#pragma unroll
    for (int j = 0; j < VECTORS; ++j) {
        t.q[j] = load_pair(qkv + h * 128 + (j * LANES + part) * 4);
        t.k[j] = load_pair(qkv + (H + h) * 128 + (j * LANES + part) * 4);
    }
    const int own = row + part % ROWS * GROUPS;
    t.v = load_half(qkv + (2 * H + hv) * 128 + own);
    t.a_log = __uint_as_float(load_word(A_log + hv)), t.bias = __uint_as_float(load_word(dt_bias + hv));
    t.a = load_half(a + n * AP + hv), t.b = load_half(b + n * BP + hv);
    t.out = out + head * 128 + own;
    t.slot = slot;
    t.home = state + slot * SP + (hv * 128 + row) * 128 + part * 4;
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int j = 0; j < VECTORS; ++j)
            t.x[r][j] = load_state(t.home + r * GROUPS * 128 + j * LANES * 4, slot);
}

// Without branches, log1pf has one: so that all of the gate is worked out while the state is on its way.
__device__ __forceinline__ void finish(Tile& t) {
    const int part = threadIdx.x % LANES;
    float4 q[VECTORS], k[VECTORS];
    float qq = 0.0f, kk = 0.0f, kq = 0.0f;
#pragma unroll
    for (int j = 0; j < VECTORS; ++j) {
        q[j] = wide4(t.q[j]), k[j] = wide4(t.k[j]);
        qq = dot(q[j], q[j], qq), kk = dot(k[j], k[j], kk), kq = dot(k[j], q[j], kq);
    }
    qq = total(qq), kk = total(kk), kq = total(kq);
    float k_norm = rsqrtf(kk + 1e-6f), q_norm = rsqrtf(qq + 1e-6f) * 0.08838834764831845f;
    const float gate = wide(t.a) + t.bias;
    const float e = expf(gate), more = 1.0f + e;
    const float log1p_e = logf(more) + __fdividef(e - (more - 1.0f), more);
    const float softplus = first_above_20(gate, log1p_e);
    float decay = expf(-expf(t.a_log) * softplus);
    float beta = reciprocal(1.0f + expf(-wide(t.b)));
    float seen_by = decay * k_norm, kept = decay * q_norm, pushed = kq * k_norm * q_norm;
    asm volatile("" : "+f"(decay), "+f"(beta), "+f"(seen_by), "+f"(kept), "+f"(pushed), "+f"(k_norm));
    if (t.slot < 0) {  // what follows waits for the state: all that is above is done by then
        if (part < ROWS) *t.out = 0;
        return;
    }

    float own_answer = 0.0f, zero = 0.0f;
#pragma unroll
    for (int from = 0; from < ROWS; from += GO) {
        float sk[GO], sq[GO];
#pragma unroll
        for (int r = 0; r < GO; ++r) {
            sk[r] = sq[r] = zero;
#pragma unroll
            for (int j = 0; j < VECTORS; ++j)
                sk[r] = dot(t.x[from + r][j], k[j], sk[r]), sq[r] = dot(t.x[from + r][j], q[j], sq[r]);
        }
        // A lane's own row is part % ROWS; in this go it looks after row from + part % GO.
        const float v = GO == ROWS ? wide(t.v) : __shfl_sync(0xffffffffu, wide(t.v), from + part % GO, LANES);
        const float seen = total_of_own_row(sk, part), answer = total_of_own_row(sq, part);
        const float u = beta * (v - seen_by * seen), own_push = u * k_norm;
        if (GO == ROWS || part % ROWS / GO == from / GO)
            own_answer = fmaf(u, pushed, kept * answer);
#pragma unroll
        for (int r = 0; r < GO; ++r) {
            const float push = __shfl_sync(0xffffffffu, own_push, r, LANES);
#pragma unroll
            for (int j = 0; j < VECTORS; ++j) {
                float4 y = t.x[from + r][j];
                // decay * y is there before push is: the other way round it would be rounded once less, and later
                y.x = fmaf(push, k[j].x, decay * y.x), y.y = fmaf(push, k[j].y, decay * y.y);
                y.z = fmaf(push, k[j].z, decay * y.z), y.w = fmaf(push, k[j].w, decay * y.w);
                store_state(t.home + (from + r) * GROUPS * 128 + j * LANES * 4, y);
                if (GO < ROWS) zero = fminf(fabsf(y.w), 0.0f);
            }
        }
        // Never entered. A loop is an end for the assembler's reordering: it would put the arithmetic of the next rows,
        // which waits for them, before the stores of these.
        if (from + GO < ROWS)
            while (zero > 0.0f) asm volatile("nanosleep.u32 20;" ::: "memory");
    }
    if (part < ROWS) *t.out = narrow(own_answer);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, FIT)
one_wave(const bf16* __restrict__ mixed_qkv, const bf16* __restrict__ a, const bf16* __restrict__ b,
         const float* __restrict__ A_log, const float* __restrict__ dt_bias, float* state,
         const int* __restrict__ indices, bf16* __restrict__ out, int B, int H, int HV, int S,
         long long SP, long long QP, long long AP, long long BP) {
    const int unit = blockIdx.x * WARPS + threadIdx.x / 32, hv = unit / UNITS;
    if (hv >= HV) return;
    if (blockIdx.y >= B) return;
    int n, slot;
    in_order(indices, blockIdx.y, B, S, n, slot);  // first of all: the state waits for it
    while (n < B) {
        Tile t;
        fetch(t, mixed_qkv, a, b, A_log, dt_bias, state, out, slot, n, hv, unit % UNITS, H, HV, SP, QP, AP, BP);
        n += gridDim.y;
        if (n < B) slot = (int)load_word(indices + n);
        finish(t);
    }
}
