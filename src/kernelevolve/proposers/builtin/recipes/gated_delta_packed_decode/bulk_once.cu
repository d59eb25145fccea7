// recipe: bulk_once
// family: gated_delta_packed_decode
// summary: K = V = 128: a warp's rows come and go as one bulk copy each, in address order, a chosen number under way
// isa: sm_90
// dtype: bfloat16
// where: K = 128
// where: V = 128
// knob ROWS = 8 4 16
// knob WARPS = 2 1 4
// knob SPARE = 12 0 2 4 8 16 24
// knob BULK_STORE = 1 0
// knob SMALL = 0 1
// knob LOAD_LEAVES = 0 1
// knob STORE_LEAVES = 0 1
// knob SORT = 4 0
// order: 16
//
// Both dot products come from the state as loaded: S' = d*S + u k^T, u = beta*(v - d*(S k)), out = d*(S q) + u*(k.q).
// Blocks start in address order and live for one tile, so the device itself hands out even shares. The state lies in
// shared memory: few registers, one request for each tile, and SPARE (KiB that a block takes and leaves alone) says how
// many blocks are on a multiprocessor. The closer together what is under way lies in memory, the better for its pages;
// too little, and the wait for the slot's number is no longer hidden.
// SMALL 1: keys and gates are asked for before the wait for the slot's number, past the L1; 0: through the L1, which
// warps of a block share. LOAD_LEAVES, STORE_LEAVES: first to leave the L2. SORT: sequences, up to 32 times so many, are
// taken in the order of their slots.

#define UNITS (128 / ROWS)           /* tiles of a head */
#define BYTES (ROWS * 512)
#define GO (ROWS > 8 ? 8 : ROWS)     /* rows that are in registers together */

typedef unsigned short bf16;
typedef unsigned long long policy_t;

__device__ __forceinline__ policy_t evict_first() {
    policy_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
__device__ __forceinline__ int load_index(const int* p) {
    int x;
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(x) : "l"(p));
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
// Relaxed loads stay where they are written; the assembler moves ordinary ones down to where they are used.
#if SMALL
#define SMALL_LD "ld.relaxed.gpu.global"
#else
#define SMALL_LD "ld.global.nc"
#endif
__device__ __forceinline__ float load_real(const float* p) {
    float x;
    asm volatile(SMALL_LD ".f32 %0, [%1];" : "=f"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ uint2 load_pair(const bf16* p) {
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
// By hand: the compiler would skip the logarithm with a branch.
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
__device__ __forceinline__ float dot(float4 a, float4 b) {
    return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, a.w * b.w)));
}
__device__ __forceinline__ float total(float x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}
// Sums GO values over the warp; each lane is left with that of row lane % GO. Handing over half of the rows at
// every step takes GO - 1 exchanges, and log2(32 / GO) more bring the copies together.
__device__ __forceinline__ float total_of_own_row(float* s, int lane) {
#pragma unroll
    for (int half = GO / 2; half > 0; half /= 2) {
        const bool upper = lane & half;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const float keep = upper ? s[i + half] : s[i], give = upper ? s[i] : s[i + half];
            s[i] = keep + __shfl_xor_sync(0xffffffffu, give, half);
        }
    }
    float x = s[0];
#pragma unroll
    for (int step = GO; step < 32; step *= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bulk_in(unsigned to, const float* from, unsigned barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(BYTES) : "memory");
#if LOAD_LEAVES
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, "
                 "[%3], %4;" ::"r"(to), "l"(from), "r"(BYTES), "r"(barrier), "l"(evict_first())
                 : "memory");
#else
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(BYTES), "r"(barrier)
                 : "memory");
#endif
}
__device__ __forceinline__ void bulk_out(float* to, unsigned from) {
#if STORE_LEAVES
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(to), "r"(from),
                 "r"(BYTES), "l"(evict_first())
                 : "memory");
#else
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(BYTES)
                 : "memory");
#endif
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void store_state(float* p, float4 x) {
#if STORE_LEAVES
    asm volatile("st.global.L1::no_allocate.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(p), "f"(x.x),
                 "f"(x.y), "f"(x.z), "f"(x.w), "l"(evict_first())
                 : "memory");
#else
    asm volatile("st.global.L1::no_allocate.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x.x), "f"(x.y), "f"(x.z),
                 "f"(x.w)
                 : "memory");
#endif
}
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}
extern "C" __global__ void __launch_bounds__(WARPS * 32, 24 / WARPS)
bulk_once(const bf16* __restrict__ mixed_qkv, const bf16* __restrict__ a, const bf16* __restrict__ b,
          const float* __restrict__ A_log, const float* __restrict__ dt_bias, float* state,
          const int* __restrict__ indices, bf16* __restrict__ out, int B, int H, int HV, int S,
          long long SP, long long QP, long long AP, long long BP) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ unsigned long long barriers[WARPS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int unit = blockIdx.x * WARPS + warp, hv = unit / UNITS, row = unit % UNITS * ROWS;
    const int place = blockIdx.z * gridDim.y + blockIdx.y;
    if (hv >= HV || place >= B) return;  // warps share nothing: no block barrier
    int n, slot;
    in_order(indices, place, B, S, n, slot);  // first of all: the state waits for it
    float* rows = reinterpret_cast<float*>(memory) + warp * (BYTES / 4);
    const unsigned rows_at = shared_address(rows), barrier = shared_address(barriers + warp);
    if (lane == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    const int h = (unsigned)(hv * H) / (unsigned)HV;
    const long long head = (long long)n * HV + hv;
    const bf16* qkv = mixed_qkv + n * QP;
    const uint2 q_bits = load_pair(qkv + h * 128 + lane * 4), k_bits = load_pair(qkv + (H + h) * 128 + lane * 4);
    const float own_v = wide(load_half(qkv + (2 * H + hv) * 128 + row + lane % ROWS));
    const float a_log = load_real(A_log + hv), bias = load_real(dt_bias + hv);
    const float a_value = wide(load_half(a + n * AP + hv)), b_value = wide(load_half(b + n * BP + hv));
    bf16* out_at = out + head * 128 + row + lane;
    if (slot < 0) {
        if (lane < ROWS) *out_at = 0;
        return;
    }
    float* home = state + slot * SP + (hv * 128 + row) * 128;
    if (lane == 0) bulk_in(rows_at, home, barrier);

    float4 q = wide4(q_bits), k = wide4(k_bits);
    const float qq = total(dot(q, q)), kk = total(dot(k, k)), kq = total(dot(k, q));
    const float k_norm = rsqrtf(kk + 1e-6f), q_norm = rsqrtf(qq + 1e-6f) * 0.08838834764831845f;
    const float gate = a_value + bias, e = expf(gate), more = 1.0f + e;
    const float softplus = first_above_20(gate, logf(more) + __fdividef(e - (more - 1.0f), more));
    const float decay = expf(-expf(a_log) * softplus);
    const float beta = reciprocal(1.0f + expf(-b_value));
    const float seen_by = decay * k_norm, kept = decay * q_norm, pushed = kq * k_norm * q_norm;
    // The first phase, parity 0. Nothing here is negative, which the assembler cannot know: so it works out all of the
    // gates before the wait, not where it finds room behind it.
    const unsigned parity = beta + decay + k_norm + kept < -1.0f;
    float own_answer = 0.0f;
    wait(barrier, parity);
#pragma unroll
    for (int from = 0; from < ROWS; from += GO) {
        float4 x[GO];
        float sk[GO], sq[GO];
#pragma unroll
        for (int r = 0; r < GO; ++r) {
            x[r] = *reinterpret_cast<const float4*>(rows + (from + r) * 128 + lane * 4);
            sk[r] = dot(x[r], k), sq[r] = dot(x[r], q);
        }
        const float v = GO == ROWS ? own_v : __shfl_sync(0xffffffffu, own_v, from + lane % GO);
        const float seen = total_of_own_row(sk, lane), answer = total_of_own_row(sq, lane);
        const float u = beta * (v - seen_by * seen), own_push = u * k_norm;
        if (lane % ROWS / GO == from / GO) own_answer = fmaf(u, pushed, kept * answer);
#pragma unroll
        for (int r = 0; r < GO; ++r) {
            const float push = __shfl_sync(0xffffffffu, own_push, r);
            float4 y = x[r];
            y.x = fmaf(decay, y.x, push * k.x), y.y = fmaf(decay, y.y, push * k.y);
            y.z = fmaf(decay, y.z, push * k.z), y.w = fmaf(decay, y.w, push * k.w);
#if BULK_STORE
            *reinterpret_cast<float4*>(rows + (from + r) * 128 + lane * 4) = y;
#else
            store_state(home + (from + r) * 128 + lane * 4, y);
#endif
        }
    }
#if BULK_STORE
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy must see what all lanes wrote
    __syncwarp();
    if (lane == 0) bulk_out(home, rows_at);
#endif
    if (lane < ROWS) *out_at = narrow(own_answer);
#if BULK_STORE
    if (lane == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // the memory is another block's next
#endif
}
