// recipe: stream_tiles
// family: gated_delta_packed_decode
// summary: K = V = 128, large batches: persistent warps sweep the batch, the next tile loads into registers meanwhile
// isa: sm_90
// dtype: bfloat16
// where: K = 128
// where: V = 128
// knob LANES = 16 32
// knob ROWS = 8 4
// knob WARPS = 4 8 2
// knob PER_SM = 2 1 3 4
// knob ORDER = 0 1 2
// knob LOAD = 2 3
// knob STORE = 2 1 3
// order: 28
//
// ORDER 0: neighbouring warps take neighbouring tiles, all of them sweep the batch together. 1: a block takes whole
// heads in turn. 2: every warp walks a stretch of its own.

#define GROUPS (32 / LANES)
#define VECTORS (32 / LANES)          /* float4 of a lane in one row of 128 */
#define UNITS (128 / (GROUPS * ROWS)) /* tiles of a head */
#define INDEX 1
#define MOST (ROWS * VECTORS > 8 ? 8 : 12) /* warps of a multiprocessor whose two tiles each fit into registers */

#if LOAD == 1
#define LD "ld.global.cs.v4.f32"
#elif LOAD == 2
#define LD "ld.global.L1::no_allocate.v4.f32"
#elif LOAD == 3
#define LD "ld.global.L1::no_allocate.L2::cache_hint.v4.f32"
#else
#define LD "ld.global.v4.f32"
#endif
#if STORE == 1
#define ST "st.global.cs.v4.f32"
#elif STORE == 2
#define ST "st.global.L1::no_allocate.v4.f32"
#elif STORE == 3
#define ST "st.global.L1::no_allocate.L2::cache_hint.v4.f32"
#else
#define ST "st.global.v4.f32"
#endif
#if LOAD == 3
#define LD_HINT ", %6"
#else
#define LD_HINT ""
#endif
#if STORE == 3
#define ST_HINT ", %5"
#else
#define ST_HINT ""
#endif

typedef unsigned short bf16;
typedef unsigned long long policy_t;

__device__ __forceinline__ policy_t evict_first() {
    policy_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
// A predicate, not a branch: a branch would end the block in which the loads can be put in order.
__device__ __forceinline__ float4 load_state(const float* p, int slot, policy_t policy) {
    float4 x = {0.0f, 0.0f, 0.0f, 0.0f};
    asm volatile("{ .reg .pred p;\n setp.ge.s32 p, %5, 0;\n @p " LD " {%0, %1, %2, %3}, [%4]" LD_HINT "; }"
                 : "+f"(x.x), "+f"(x.y), "+f"(x.z), "+f"(x.w)
                 : "l"(p), "r"(slot), "l"(policy));
    return x;
}
__device__ __forceinline__ void store_state(float* p, float4 x, policy_t policy) {
    asm volatile(ST " [%0], {%1, %2, %3, %4}" ST_HINT ";" ::"l"(p), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w), "l"(policy)
                 : "memory");
}
// All warps want the same few numbers. Through the L1 cache they ask the L2 once per multiprocessor, not once per warp.
__device__ __forceinline__ int load_index(const int* p) {
    int x;
#if INDEX == 1
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(x) : "l"(p));
#else
    asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(p));
#endif
    return x;
}
// Relaxed loads stay where they are written; the assembler moves ordinary ones down to where they are used, behind the
// wait for the slot's number.
__device__ __forceinline__ unsigned load_word(const void* p) {
    unsigned x;
    asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ uint2 load_pair(const void* p) {
    uint2 x;
    asm volatile("ld.relaxed.gpu.global.v2.b32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(p));
    return x;
}
__device__ __forceinline__ unsigned load_half(const bf16* p) {
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
// Sums ROWS values over the lanes of a group; each lane is left with that of row part % ROWS. Handing over half of
// the rows at every step takes ROWS - 1 exchanges where summing row by row takes ROWS * log2(LANES).
__device__ __forceinline__ float total_of_own_row(float* s, int part) {
#pragma unroll
    for (int half = ROWS / 2; half > 0; half /= 2) {
        const bool upper = part & half;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const float keep = upper ? s[i + half] : s[i], give = upper ? s[i] : s[i + half];
            s[i] = keep + __shfl_xor_sync(0xffffffffu, give, half);
        }
    }
    float x = s[0];
#pragma unroll
    for (int step = ROWS; step < LANES; step *= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
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
                                      int H, int HV, long long SP, long long QP, long long AP, long long BP,
                                      policy_t policy) {
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
            t.x[r][j] = load_state(t.home + r * GROUPS * 128 + j * LANES * 4, slot, policy);
}

// Without branches, log1pf has one: so that all of the gate is worked out while the state is on its way.
__device__ __forceinline__ void finish(Tile& t, policy_t policy) {
    const int part = threadIdx.x % LANES;
    float4 q[VECTORS], k[VECTORS];
    float qq = 0.0f, kk = 0.0f, kq = 0.0f;
#pragma unroll
    for (int j = 0; j < VECTORS; ++j) {
        q[j] = wide4(t.q[j]), k[j] = wide4(t.k[j]);
        qq = dot(q[j], q[j], qq), kk = dot(k[j], k[j], kk), kq = dot(k[j], q[j], kq);
    }
    qq = total(qq), kk = total(kk), kq = total(kq);  // before the branch: what follows it waits for the state
    if (t.slot < 0) {
        if (part < ROWS) *t.out = 0;
        return;
    }
    const float k_norm = rsqrtf(kk + 1e-6f), q_norm = rsqrtf(qq + 1e-6f) * 0.08838834764831845f;
    const float gate = wide(t.a) + t.bias;
    const float e = expf(gate), more = 1.0f + e;
    const float log1p_e = logf(more) + __fdividef(e - (more - 1.0f), more);
    const float softplus = first_above_20(gate, log1p_e);
    const float decay = expf(-expf(t.a_log) * softplus);
    const float beta = reciprocal(1.0f + expf(-wide(t.b)));

    float sk[ROWS], sq[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        sk[r] = sq[r] = 0.0f;
#pragma unroll
        for (int j = 0; j < VECTORS; ++j) sk[r] = dot(t.x[r][j], k[j], sk[r]), sq[r] = dot(t.x[r][j], q[j], sq[r]);
    }
    const float seen = total_of_own_row(sk, part), answer = total_of_own_row(sq, part);
    const float u = beta * (wide(t.v) - decay * k_norm * seen), own_push = u * k_norm;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float push = __shfl_sync(0xffffffffu, own_push, r, LANES);
#pragma unroll
        for (int j = 0; j < VECTORS; ++j) {
            float4 y = t.x[r][j];
            y.x = fmaf(decay, y.x, push * k[j].x), y.y = fmaf(decay, y.y, push * k[j].y);
            y.z = fmaf(decay, y.z, push * k[j].z), y.w = fmaf(decay, y.w, push * k[j].w);
            store_state(t.home + r * GROUPS * 128 + j * LANES * 4, y, policy);
        }
    }
    if (part < ROWS) *t.out = narrow(fmaf(u, kq * k_norm * q_norm, decay * q_norm * answer));
}

// The warp's n_mine tiles: the first, and how far it is to the next.
struct Walk {
    int first, step, n_mine;
};
__device__ __forceinline__ Walk walk(int n_tiles) {
    const int warp = threadIdx.x / 32, n_warps = gridDim.x * WARPS, me = blockIdx.x * WARPS + warp;
#if ORDER == 0
    return {me, n_warps, me < n_tiles ? (n_tiles - me - 1) / n_warps + 1 : 0};
#elif ORDER == 1
    const int each = (n_tiles + gridDim.x - 1) / (int)gridDim.x, from = blockIdx.x * each;
    const int mine = n_tiles - from < each ? n_tiles - from : each;
    return {from + warp, WARPS, mine > warp ? (mine - warp - 1) / WARPS + 1 : 0};
#else
    const int from = (int)((long long)n_tiles * me / n_warps);
    return {from, 1, (int)((long long)n_tiles * (me + 1) / n_warps) - from};
#endif
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, (PER_SM * WARPS > MOST ? MOST / WARPS : PER_SM))
stream_tiles(const bf16* __restrict__ mixed_qkv, const bf16* __restrict__ a, const bf16* __restrict__ b,
             const float* __restrict__ A_log, const float* __restrict__ dt_bias, float* state,
             const int* __restrict__ indices, bf16* __restrict__ out, int B, int H, int HV,
             long long SP, long long QP, long long AP, long long BP) {
    const policy_t policy = evict_first();
    const Walk w = walk(B * HV * UNITS);
    if (w.n_mine == 0) return;
    const auto slot_of = [&](int i) {
        const int tile = w.first + (i < w.n_mine ? i : 0) * w.step;
        return load_index(indices + tile / UNITS / HV);
    };
    const auto get = [&](Tile& t, int i, int slot) {
        const int tile = w.first + i * w.step, head = tile / UNITS, n = head / HV;
        fetch(t, mixed_qkv, a, b, A_log, dt_bias, state, out, slot, n, head - n * HV, tile % UNITS, H, HV, SP, QP,
              AP, BP, policy);
    };
    Tile even, odd;
    int slot = slot_of(0), next_slot = slot_of(1);
    get(even, 0, slot);
    for (int i = 0; i < w.n_mine; i += 2) {
        slot = slot_of(i + 2);
        if (i + 1 < w.n_mine) get(odd, i + 1, next_slot);
        __syncwarp();  // keeps the loads above the arithmetic
        finish(even, policy);
        if (i + 1 >= w.n_mine) break;
        next_slot = slot_of(i + 3);
        if (i + 2 < w.n_mine) get(even, i + 2, slot);
        __syncwarp();
        finish(odd, policy);
    }
}
