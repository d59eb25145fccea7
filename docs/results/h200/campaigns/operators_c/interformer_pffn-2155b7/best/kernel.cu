// interformer_pffn: step 9 of campaign interformer_pffn-2155b7
#define KE_DTYPE_float16 1
#define AHEAD 1
#define EXACT 0
#define STEPS 4
#define SKEW 3000
// recipe: sample_blocks
// family: interformer_pffn
// summary: three pairs of widths: a block holds both weights of a sample and passes its rows through; others row by row
// isa: sm_90
// dtype: float16
// knob AHEAD = 1 0
// knob EXACT = 0 1
// knob STEPS = 2 4 1
// knob SKEW = 1500 0 3000
// order: 15
//
// A group of four warps takes up to 64 rows through both products; each warp has a quarter of the columns. Rows, hidden
// values and results take turns in one piece of shared memory. Where two blocks do not fit, a block has two groups.
// AHEAD: order the next rows and weights into the L2. EXACT: erf as the library has it, else Phi by a fit that is good
// to 1e-5. STEPS: of 16 along the sums, unrolled. SKEW: nanoseconds by which the second group starts later, so that one
// multiplies while the other does the rest.
#include <cuda_fp16.h>

static constexpr int GROUP = 128, ROWS = 64;
static constexpr int TILE = ROWS * 256 * 2, PER_GROUP = TILE + ROWS * 16;  // bytes: rows, sums of four warps

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void copy16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ __forceinline__ void make_barrier(unsigned long long* barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

__device__ __forceinline__ void arrive_with_copies(unsigned long long* barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ __forceinline__ void wait(unsigned long long* barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    } while (!done);
}

__device__ __forceinline__ void group_barrier() {
    asm volatile("bar.sync %0, 128;" ::"r"((int)threadIdx.x / GROUP + 1) : "memory");
}

__device__ __forceinline__ void order_ahead(const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void load4(unsigned (&r)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

__device__ __forceinline__ void load4_turned(unsigned (&r)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

__device__ __forceinline__ void load2_turned(unsigned& r0, unsigned& r1, unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r0), "=r"(r1) : "r"(address) : "memory");
}

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float power_of_2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float gelu(float x) { return fmaf(0.5f * x, erff(x * 0.70710678f), 0.5f * x); }

// 1 / Phi(x), good to 1e-5 of a result and at most 2^60. Beyond 6 the fit stays as it is.
__device__ __forceinline__ float inverse_phi(float x) {
    const float y = fminf(x * x, 36.f);
    const float p = fmaf(fmaf(0.00101426375f, y, -0.106775728f), y, -2.30112133f);
    return 1.f + power_of_2(fminf(x * p, 60.f));
}

// Two of them with one reciprocal
__device__ __forceinline__ void gelu(float& x, float& y) {
    if (EXACT) return (void)(x = gelu(x), y = gelu(y));
    const float a = inverse_phi(x), b = inverse_phi(y), r = reciprocal(a * b);
    x *= r * b, y *= r * a;
}

// Rows of WIDTH numbers in shared memory, in pieces of 16 bytes that change places: eight rows meet no bank twice.
template <int WIDTH>
__device__ __forceinline__ int turn(int row) { return WIDTH % 64 == 0 ? row & 7 : row >> 1 & 3; }

template <int WIDTH>
__device__ __forceinline__ int place(int row, int piece) { return row * WIDTH * 2 + (piece ^ turn<WIDTH>(row)) * 16; }

template <int HEIGHT, int WIDTH>
__device__ __forceinline__ void fetch(unsigned char* to, const __half* from, unsigned long long* filled) {
#pragma unroll 4
    for (int i = threadIdx.x % GROUP; i < HEIGHT * WIDTH / 8; i += GROUP)
        copy16(to + place<WIDTH>(i / (WIDTH / 8), i % (WIDTH / 8)), from + 8 * i);
    arrive_with_copies(filled);
}

// Adds M * 16 rows of a times a quarter of b's columns, NT * 8 of them.
template <int M, int NT, int DEPTH>
__device__ __forceinline__ void product(float (&sum)[M][NT][4], const unsigned char* a, const unsigned char* b) {
    constexpr int WIDTH = 32 * NT;
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 & 3, row = lane & 15, upper = lane >> 4;
    const unsigned a_row = shared_address(a) + row * DEPTH * 2, b_row = shared_address(b) + row * WIDTH * 2;
    unsigned column[(NT + 1) / 2];
#pragma unroll
    for (int j = 0; j < (NT + 1) / 2; ++j) {
        const int piece = warp * NT + 2 * j + (2 * j + 1 < NT ? upper : 0);
        column[j] = b_row + (piece ^ turn<WIDTH>(row)) * 16;
    }
#pragma unroll STEPS
    for (int step = 0; step < DEPTH / 16; ++step) {
        unsigned p[M][4];
#pragma unroll
        for (int m = 0; m < M; ++m)
            load4(p[m], a_row + m * 32 * DEPTH + ((2 * step + upper) ^ turn<DEPTH>(row)) * 16);
#pragma unroll
        for (int j = 0; j < NT; j += 2) {
            unsigned q[4];
            const unsigned from = column[j / 2] + step * 32 * WIDTH;
            if (j + 1 < NT) load4_turned(q, from);
            else load2_turned(q[0], q[1], from);
#pragma unroll
            for (int m = 0; m < M; ++m) multiply(sum[m][j], p[m], q[0], q[1]);
            if (j + 1 < NT)
#pragma unroll
                for (int m = 0; m < M; ++m) multiply(sum[m][j + 1], p[m], q[2], q[3]);
        }
    }
}

// Sums over a row: of four threads here, of four warps by way of shared memory.
template <int M>
__device__ __forceinline__ void leave_sums(const float (&part)[M][2], float* sums) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 & 3;
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float v = part[m][r];
            v += __shfl_xor_sync(~0u, v, 1);
            v += __shfl_xor_sync(~0u, v, 2);
            if ((lane & 3) == 0) sums[(16 * m + 8 * r + lane / 4) * 4 + warp] = v;
        }
}

template <int WIDTH>
__device__ __forceinline__ float inverse_rms(const float* sums, int row) {
    const float4 s = ((const float4*)sums)[row];
    return rsqrtf((s.x + s.y + (s.z + s.w)) * (1.f / WIDTH) + 1e-6f);
}

// NT * 8 columns of M * 16 rows, normed, into rows of shared memory
template <int M, int NT>
__device__ __forceinline__ void put(const float (&v)[M][NT][4], const float* sums, const __half* gain,
                                    unsigned char* tile) {
    const int lane = threadIdx.x & 31, piece = (threadIdx.x / 32 & 3) * NT, g = lane / 4, q = lane & 3;
#pragma unroll
    for (int m = 0; m < M; ++m) {
        const float upper = inverse_rms<32 * NT>(sums, 16 * m + g), lower = inverse_rms<32 * NT>(sums, 16 * m + g + 8);
#pragma unroll
        for (int j = 0; j < NT; ++j) {
            const float2 by = __half22float2(((const __half2*)gain)[4 * (piece + j) + q]);
            unsigned char* to = tile + place<32 * NT>(16 * m + g, piece + j) + 4 * q;  // same turn 8 rows on
            *(__half2*)to = __floats2half2_rn(v[m][j][0] * upper * by.x, v[m][j][1] * upper * by.y);
            *(__half2*)(to + 8 * 64 * NT) = __floats2half2_rn(v[m][j][2] * lower * by.x, v[m][j][3] * lower * by.y);
        }
    }
}

template <bool GELU, int M, int NT>
__device__ __forceinline__ void with_bias(float (&v)[M][NT][4], const __half* bias, float* sums) {
    const int piece = (threadIdx.x / 32 & 3) * NT, q = threadIdx.x & 3;
    float part[M][2] = {};
#pragma unroll
    for (int j = 0; j < NT; ++j) {
        const float2 add = __half22float2(((const __half2*)bias)[4 * (piece + j) + q]);
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                float &y0 = v[m][j][2 * r], &y1 = v[m][j][2 * r + 1];
                y0 += add.x, y1 += add.y;
                if (GELU) gelu(y0, y1);
                part[m][r] = fmaf(y1, y1, fmaf(y0, y0, part[m][r]));
            }
    }
    leave_sums(part, sums);
}

struct Piece { const __half* x; __half* out; int rows; };  // rows of a sample, one after the other

struct Arguments {
    const __half *x, *w1, *b1, *g1, *w2, *b2, *g2;
    __half* out;
    long long B;
    int N;
};

template <int D>
__device__ __forceinline__ Piece piece_of(const Arguments& a, long long b, int t, int tiles) {
    if (b >= a.B || t >= tiles) return {nullptr, nullptr, 0};
    const int units = (a.N + 15) / 16, first = t * units / tiles * 16, end = min(a.N, (t + 1) * units / tiles * 16);
    const long long at = (b * a.N + first) * D;
    return {a.x + at, a.out + at, end - first};
}

// Where the weights are: w[0] before the first product, w[1] before the second.
struct Weights {
    unsigned char* at[2];
    unsigned long long* filled;  // two barriers
    unsigned *passed, *second;   // how often a group was done with them; whether that was the second group of two
};

// One thread of a group says that its last rows of a sample are through; a barrier of the group follows.
__device__ __forceinline__ void leave(const Weights& w, int which) {
    if (threadIdx.x % GROUP != 0) return;
    __threadfence_block();
    w.second[threadIdx.x / GROUP * 2 + which] = (atomicAdd(w.passed + which, 1u) & 1u) | (blockDim.x == GROUP);
    __threadfence_block();
}

// The group that left later brings the next sample's weights.
template <int D, int K>
__device__ __forceinline__ void refill(const Arguments& a, long long next, const Weights& w, int which) {
    if (next >= a.B || w.second[threadIdx.x / GROUP * 2 + which] == 0) return;
    if (which == 0) fetch<D, K>(w.at[0], a.w1 + next * D * K, w.filled);
    else fetch<K, D>(w.at[1], a.w2 + next * D * K, w.filled + 1);
}

template <int D, int K, int M>
__device__ __forceinline__ void pass(const Arguments& a, long long b, long long next, bool last, unsigned parity,
                                     const Piece& here, const Piece& then, const Weights& w, unsigned char* tile) {
    float* sums = (float*)(tile + TILE);
    {
        float h[M][K / 32][4] = {};
        product<M, K / 32, D>(h, tile, w.at[0]);
        with_bias<true>(h, a.b1 + b * K, sums);
        group_barrier();
        if (last) leave(w, 0);
        put(h, sums, a.g1, tile);
    }
    group_barrier();
    if (last) refill<D, K>(a, next, w, 0);
    wait(w.filled + 1, parity);
    {
        float z[M][D / 32][4] = {};
        product<M, D / 32, K>(z, tile, w.at[1]);
        with_bias<false>(z, a.b2 + b * D, sums);
        group_barrier();
        if (last) leave(w, 1);
        put(z, sums, a.g2, tile);
    }
    group_barrier();
    if (last) refill<D, K>(a, next, w, 1);
    const int n_here = here.rows * (D / 8), n_then = then.rows * (D / 8);
#pragma unroll 4
    for (int i = threadIdx.x % GROUP; i < max(n_here, n_then); i += GROUP) {
        unsigned char* spot = tile + place<D>(i / (D / 8), i % (D / 8));
        if (i < n_here) ((uint4*)here.out)[i] = *(const uint4*)spot;
        if (i < n_then) copy16(spot, then.x + 8 * i);
    }
}

// A group without rows, in the last round: it must not run ahead either.
template <int D, int K>
__device__ __forceinline__ void skip(const Arguments& a, long long next, unsigned parity, const Weights& w) {
    leave(w, 0);
    group_barrier();
    refill<D, K>(a, next, w, 0);
    wait(w.filled + 1, parity);
    leave(w, 1);
    group_barrier();
    refill<D, K>(a, next, w, 1);
}

// One part of `parts` of the next sample's weights
template <int D, int K>
__device__ __forceinline__ void order_weights(const Arguments& a, long long next, int part, int parts) {
    const int first = part * (D * K / 8) / parts, end = (part + 1) * (D * K / 8) / parts;
    if (next >= a.B || first == end) return;
    order_ahead(a.w1 + next * D * K + 8 * first, 16 * (end - first));
    order_ahead(a.w2 + next * D * K + 8 * first, 16 * (end - first));
}

template <int D, int K>
__device__ __forceinline__ void samples(const Arguments& a, unsigned char* memory) {
    const int group = threadIdx.x / GROUP, groups = blockDim.x / GROUP;
    unsigned char* tile = memory + 4 * D * K + group * PER_GROUP;
    unsigned long long* filled = (unsigned long long*)(memory + 4 * D * K + groups * PER_GROUP);
    const Weights w{{memory, memory + 2 * D * K}, filled, (unsigned*)(filled + 2), (unsigned*)(filled + 3)};
    const int tiles = ((a.N + 15) / 16 + 3) / 4, rounds = (tiles + groups - 1) / groups;
    long long b = blockIdx.x;
    if (b >= a.B) return;
    if (threadIdx.x == 0) {
        make_barrier(filled, GROUP);
        make_barrier(filled + 1, GROUP);
        w.passed[0] = w.passed[1] = 0;
    }
    __syncthreads();
    if (group == 0) fetch<D, K>(w.at[0], a.w1 + b * D * K, filled);
    if (group == groups - 1) fetch<K, D>(w.at[1], a.w2 + b * D * K, filled + 1);
    const Piece first = piece_of<D>(a, b, group, tiles);
    for (int i = threadIdx.x % GROUP; i < first.rows * (D / 8); i += GROUP)
        copy16(tile + place<D>(i / (D / 8), i % (D / 8)), first.x + 8 * i);
    if (SKEW > 0 && group > 0) __nanosleep(SKEW);
    unsigned parity = 0;
    for (; b < a.B; b += gridDim.x, parity ^= 1) {
        const long long next = b + gridDim.x;
        wait(filled, parity);
        for (int i = 0; i < rounds; ++i) {
            const bool last = i == rounds - 1;
            const int t = group + i * groups;
            wait_for_copies();
            group_barrier();
            if (AHEAD && threadIdx.x == 0) order_weights<D, K>(a, next, i, rounds);
            const Piece here = piece_of<D>(a, b, t, tiles);
            const bool same = t + groups < tiles;
            const Piece then = piece_of<D>(a, same ? b : next, same ? t + groups : group, tiles);
            if (AHEAD && threadIdx.x % GROUP == 32 && then.rows > 0) order_ahead(then.x, then.rows * D * 2);
            if (here.rows > 48) pass<D, K, 4>(a, b, next, last, parity, here, then, w, tile);
            else if (here.rows > 0) pass<D, K, 3>(a, b, next, last, parity, here, then, w, tile);
            else skip<D, K>(a, next, parity, w);
        }
    }
}

__device__ __forceinline__ float block_sum(float v, float* scratch) {
    __syncthreads();
    scratch[threadIdx.x] = v;
    __syncthreads();
    float sum = 0.f;
    for (int i = 0; i < (int)blockDim.x; ++i) sum += scratch[i];
    return sum;
}

// Any widths: a row at a time, its hidden values in shared memory.
__device__ __forceinline__ void row_by_row(const Arguments& a, int D, int K, unsigned char* memory) {
    float *hidden = (float*)memory, *scratch = hidden + 8192;
    for (long long row = blockIdx.x; row < a.B * a.N; row += gridDim.x) {
        const long long b = row / a.N;
        const __half *x = a.x + row * D, *w1 = a.w1 + b * D * K, *w2 = a.w2 + b * D * K;
        float squares = 0.f;
        __syncthreads();
        for (int k = threadIdx.x; k < K; k += blockDim.x) {
            float h = 0.f;
            for (int d = 0; d < D; ++d) h = fmaf(__half2float(x[d]), __half2float(w1[(long long)d * K + k]), h);
            h = gelu(h + __half2float(a.b1[b * K + k]));
            squares = fmaf(h, h, squares);
            hidden[k] = h * __half2float(a.g1[k]);
        }
        const float factor = rsqrtf(block_sum(squares, scratch) / (float)K + 1e-6f);
        float size = 0.f;
        squares = 0.f;
        for (int turn = 0; turn < 2; ++turn) {  // for the size of the row, then for the result
            for (int d = threadIdx.x; d < D; d += blockDim.x) {
                float z = 0.f;
                for (int k = 0; k < K; ++k) z = fmaf(hidden[k], __half2float(w2[(long long)k * D + d]), z);
                z = fmaf(z, factor, __half2float(a.b2[b * D + d]));
                squares = fmaf(z, z, squares);
                if (turn == 1) a.out[row * D + d] = __float2half_rn(z * size * __half2float(a.g2[d]));
            }
            if (turn == 0) size = rsqrtf(block_sum(squares, scratch) / (float)D + 1e-6f);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 1)
pffn(const __half* __restrict__ x, const __half* __restrict__ w1, const __half* __restrict__ b1,
     const __half* __restrict__ g1, const __half* __restrict__ w2, const __half* __restrict__ b2,
     const __half* __restrict__ g2, __half* __restrict__ out, long long B, long long N, long long D, long long K) {
    extern __shared__ __align__(128) unsigned char memory[];
    const Arguments a{x, w1, b1, g1, w2, b2, g2, out, B, (int)N};
    if (D == 256 && K == 160) samples<256, 160>(a, memory);
    else if (D == 192 && K == 96) samples<192, 96>(a, memory);
    else if (D == 96 && K == 192) samples<96, 192>(a, memory);
    else row_by_row(a, (int)D, (int)K, memory);
}
