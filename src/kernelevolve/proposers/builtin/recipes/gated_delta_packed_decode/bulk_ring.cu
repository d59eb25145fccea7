// recipe: bulk_ring
// family: gated_delta_packed_decode
// summary: K = V = 128, large batches: persistent warps, each with its own ring of bulk copies in shared memory
// isa: sm_90
// dtype: bfloat16
// where: K = 128
// where: V = 128
// knob ROWS = 2 1
// knob WARPS = 8 4 16
// knob RING_KIB = 192 128
// knob STRIDED = 0 1
// knob BULK_STORE = 1 0
// order: 30
//
// A piece is 4*ROWS rows of one head, a bulk copy in and a bulk copy out. Warps share nothing: no block barrier.
// STRIDED: neighbouring warps take neighbouring pieces; otherwise each warp walks its own stretch of the batch.

#define PIECE (4 * ROWS)
#define PIECES (128 / PIECE) /* of a head */
#define BYTES (PIECE * 512)
#define STAGES (RING_KIB * 1024 / (WARPS * BYTES))

typedef unsigned short bf16;

__device__ __forceinline__ float wide(unsigned bits) { return __uint_as_float(bits << 16); }
__device__ __forceinline__ float4 wide4(uint2 x) {
    return make_float4(wide(x.x), __uint_as_float(x.x & 0xffff0000u), wide(x.y), __uint_as_float(x.y & 0xffff0000u));
}
__device__ __forceinline__ bf16 narrow(float x) {
    bf16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
__device__ __forceinline__ float dot(float4 a, float4 b, float sum) {
    return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
}
__device__ __forceinline__ float total(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 4);
    x += __shfl_xor_sync(0xffffffffu, x, 2);
    return x + __shfl_xor_sync(0xffffffffu, x, 1);
}
__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void bulk_in(unsigned to, const float* from, unsigned barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(BYTES) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(BYTES), "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void bulk_out(float* to, unsigned from) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(BYTES)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

struct Head {
    float4 q[4], k[4];
    float decay, beta, k_norm, q_norm, agree;
};

// a and b: this head's.
__device__ __forceinline__ void load_head(Head& g, const bf16* qkv, const bf16* a, const bf16* b, const float* A_log,
                                          const float* dt_bias, int hv, int H, int HV, int part) {
    const int h = hv / (HV / H);
    uint2 q_bits[4], k_bits[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        q_bits[j] = __ldg(reinterpret_cast<const uint2*>(qkv + h * 128) + j * 8 + part);
        k_bits[j] = __ldg(reinterpret_cast<const uint2*>(qkv + (H + h) * 128) + j * 8 + part);
    }
    const float gate = wide(__ldg(a)) + __ldg(dt_bias + hv), a_log = __ldg(A_log + hv);
    const float b_value = wide(__ldg(b));
    float qq = 0.0f, kk = 0.0f, kq = 0.0f;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        g.q[j] = wide4(q_bits[j]), g.k[j] = wide4(k_bits[j]);
        qq = dot(g.q[j], g.q[j], qq), kk = dot(g.k[j], g.k[j], kk), kq = dot(g.k[j], g.q[j], kq);
    }
    g.k_norm = rsqrtf(total(kk) + 1e-6f), g.q_norm = rsqrtf(total(qq) + 1e-6f) * 0.08838834764831845f;
    g.agree = total(kq) * g.k_norm * g.q_norm;
    const float softplus = gate > 20.0f ? gate : log1pf(expf(gate));
    g.decay = expf(-expf(a_log) * softplus);
    g.beta = 1.0f / (1.0f + expf(-b_value));
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, 1)
bulk_ring(const bf16* __restrict__ mixed_qkv, const bf16* __restrict__ a, const bf16* __restrict__ b,
          const float* __restrict__ A_log, const float* __restrict__ dt_bias, float* state,
          const int* __restrict__ indices, bf16* __restrict__ out, int B, int H, int HV,
          long long SP, long long QP, long long AP, long long BP) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ unsigned long long barriers[WARPS * STAGES];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 8, part = lane % 8;
    float* ring = reinterpret_cast<float*>(memory) + warp * STAGES * (BYTES / 4);
    const unsigned ring_at = shared_address(ring), barrier_at = shared_address(barriers + warp * STAGES);
    if (lane == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; ++s)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_at + 8 * s) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();

    const int n_pieces = B * HV * PIECES, n_warps = gridDim.x * WARPS, me = blockIdx.x * WARPS + warp;
#if STRIDED
    const int first = me, step = n_warps, n_mine = me < n_pieces ? (n_pieces - me - 1) / n_warps + 1 : 0;
#else
    const int first = (int)((long long)n_pieces * me / n_warps), step = 1;
    const int n_mine = (int)((long long)n_pieces * (me + 1) / n_warps) - first;
#endif
    // Where a piece lies; nothing for a padding row.
    const auto state_of = [&](int piece) -> float* {
        const int head = piece / PIECES, n = head / HV, hv = head - n * HV;
        const int slot = __ldg(indices + n);
        return slot < 0 ? nullptr : state + slot * SP + (hv * PIECES + piece % PIECES) * (PIECE * 128);
    };
    const auto fetch = [&](int t, int s) {
        const float* from = state_of(first + t * step);
        if (from != nullptr) bulk_in(ring_at + s * BYTES, from, barrier_at + 8 * s);
    };
    if (lane == 0)
        for (int t = 0; t < STAGES - 1 && t < n_mine; ++t) fetch(t, t);

    Head g;
    int held = -1;
    unsigned parity = 0;  // a bit per stage
    for (int t = 0, s = 0; t < n_mine; ++t, s = s + 1 < STAGES ? s + 1 : 0) {
        const int piece = first + t * step, head = piece / PIECES, n = head / HV, hv = head - n * HV;
        const int row = piece % PIECES * PIECE + group * ROWS;
        float* home = state_of(piece);
        bf16* o = out + (long long)head * 128 + row;
        if (home == nullptr) {
            if (part == 0)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) o[r] = 0;
        } else {
            const bf16* qkv = mixed_qkv + n * QP;
            bf16 v_bits[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) v_bits[r] = __ldg(qkv + (2 * H + hv) * 128 + row + r);
            if (head != held) {
                load_head(g, qkv, a + n * AP + hv, b + n * BP + hv, A_log, dt_bias, hv, H, HV, part);
                held = head;
            }
            wait(barrier_at + 8 * s, (parity >> s) & 1u);
            parity ^= 1u << s;
            float* x_at = ring + s * (BYTES / 4) + group * ROWS * 128 + part * 4;
            float* home_at = home + group * ROWS * 128 + part * 4;
            float4 x[ROWS][4];
            float sk[ROWS], sq[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                sk[r] = sq[r] = 0.0f;
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    x[r][j] = *reinterpret_cast<const float4*>(x_at + r * 128 + j * 32);
                    sk[r] = dot(x[r][j], g.k[j], sk[r]), sq[r] = dot(x[r][j], g.q[j], sq[r]);
                }
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) sk[r] = total(sk[r]), sq[r] = total(sq[r]);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const float u = g.beta * (wide(v_bits[r]) - g.decay * g.k_norm * sk[r]), push = u * g.k_norm;
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    float4 y = x[r][j];
                    y.x = fmaf(g.decay, y.x, push * g.k[j].x), y.y = fmaf(g.decay, y.y, push * g.k[j].y);
                    y.z = fmaf(g.decay, y.z, push * g.k[j].z), y.w = fmaf(g.decay, y.w, push * g.k[j].w);
#if BULK_STORE
                    *reinterpret_cast<float4*>(x_at + r * 128 + j * 32) = y;
#else
                    *reinterpret_cast<float4*>(home_at + r * 128 + j * 32) = y;
#endif
                }
                if (part == 0) o[r] = narrow(fmaf(u, g.agree, g.decay * g.q_norm * sq[r]));
            }
#if BULK_STORE
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy must see what all lanes wrote
#endif
        }
        __syncwarp();
        if (lane == 0) {
#if BULK_STORE
            if (home != nullptr) bulk_out(home, ring_at + s * BYTES);
            // The next copy lands where the piece before this one lay: only this one's way out may still be reading.
            if (home != nullptr)
                asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
            else
                asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
            if (t + STAGES - 1 < n_mine) fetch(t + STAGES - 1, s > 0 ? s - 1 : STAGES - 1);
        }
    }
#if BULK_STORE
    if (lane == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}
