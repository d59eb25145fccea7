// recipe: sample_in_place
// family: wukong_optimized_fm
// summary: up to 48 rows: y of a sample comes into shared memory, becomes the result in its place, leaves; else plain
// isa: sm_90
// dtype: float16
// knob WARPS = 4 8 2
// knob AHEAD = 0 264 396 528
// knob PER_SM = 3 2 4
// order: 15
//
// Every warp has all of x x^T in its registers, as two numbers of 16 bits and a factor for each row: rounding it once
// would show where large terms cancel. Which column of y is which of a tensor core's tile is free to choose, and so is
// the order of the sum over D: chosen so that threads read and write neighbouring numbers and nothing is turned around.
// AHEAD: that many samples on, x and y are ordered into the L2. PER_SM: registers for so many blocks of 4 warps.
#include <cuda_fp16.h>

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void make_barrier(void* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void fetch(void* to, const void* from, unsigned bytes, void* barrier) {
    const unsigned at = shared_address(barrier);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)), "l"(from), "r"(bytes), "r"(at) : "memory");
}

__device__ __forceinline__ void wait(void* barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    } while (!done);
}

__device__ __forceinline__ void before_sending() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ void send(void* to, const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
                 "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

__device__ __forceinline__ void order_ahead(const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static constexpr int HEAD = 2064;  // bytes before y: a barrier, or the plain kernel's row of x x^T
static constexpr long long LARGEST = 227000;

__device__ __forceinline__ unsigned pair_of(float a, float b) {
    const __half2 pair = __floats2half2_rn(a, b);
    return *(const unsigned*)&pair;
}

// g[m][j]: x x^T by tiles of 16 rows and 8 columns. A thread reads 8 numbers of a row in one piece; both factors of a
// product are read alike, so the order within the sum does not matter.
template <int M>
__device__ __forceinline__ void gram(float (&g)[M][2 * M][4], const __half* x, int N, int D) {
    const int row = (threadIdx.x & 31) / 4, q = threadIdx.x & 3;
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
        for (int j = 0; j < 2 * M; ++j) g[m][j][0] = g[m][j][1] = g[m][j][2] = g[m][j][3] = 0.f;
#pragma unroll 2
    for (int d = 8 * q; d < (D + 31) / 32 * 32; d += 32) {
        uint4 v[2 * M];
#pragma unroll
        for (int r = 0; r < 2 * M; ++r)
            v[r] = row + 8 * r < N && d < D ? *(const uint4*)(x + (row + 8 * r) * D + d) : uint4{0, 0, 0, 0};
#pragma unroll
        for (int m = 0; m < M; ++m) {
            const unsigned a[4] = {v[2 * m].x, v[2 * m + 1].x, v[2 * m].y, v[2 * m + 1].y};
            const unsigned b[4] = {v[2 * m].z, v[2 * m + 1].z, v[2 * m].w, v[2 * m + 1].w};
#pragma unroll
            for (int j = 0; j < 2 * M; ++j) {
                multiply(g[m][j], a, v[j].x, v[j].y);
                multiply(g[m][j], b, v[j].z, v[j].w);
            }
        }
    }
}

// Left factors of the second product: factor * (left + rest), the largest of every row near 1024.
template <int M>
struct Left {
    unsigned left[M][M][4], rest[M][M][4];
    float factor[M][2];
};

template <int M>
__device__ __forceinline__ void split(const float (&g)[M][2 * M][4], Left<M>& to) {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float largest = 0.f;
#pragma unroll
            for (int j = 0; j < 2 * M; ++j)
                largest = fmaxf(largest, fmaxf(fabsf(g[m][j][2 * r]), fabsf(g[m][j][2 * r + 1])));
            largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
            to.factor[m][r] = (largest > 0.f ? largest : 1.f) * (1.f / 1024);
            const float by = 1.f / to.factor[m][r];
#pragma unroll
            for (int j = 0; j < 2 * M; ++j) {
                const float u = g[m][j][2 * r] * by, v = g[m][j][2 * r + 1] * by;
                const unsigned high = pair_of(u, v);
                const float2 taken = __half22float2(*(const __half2*)&high);
                to.left[m][j / 2][r + 2 * (j & 1)] = high;
                to.rest[m][j / 2][r + 2 * (j & 1)] = pair_of(u - taken.x, v - taken.y);
            }
        }
}

// 64 columns of y from c on, in place. Column n of tile t is 8 * block(n) + t, or 16 * (t / 2) + 2 * block(n) + t % 2
// where rows begin at odd places (WIDE = false); block(n) = n / 2 + 4 * (n % 2).
template <bool WIDE>
__device__ __forceinline__ int word_of(int block, int w) { return WIDE ? 8 * block + 2 * w : 16 * w + 2 * block; }

template <bool WIDE>
__device__ __forceinline__ void read(unsigned (&v)[4], const __half* row, int block, int left) {
    if (WIDE) {
        const uint4 all = 8 * block < left ? *(const uint4*)(row + 8 * block) : uint4{0, 0, 0, 0};
        v[0] = all.x, v[1] = all.y, v[2] = all.z, v[3] = all.w;
    } else {
#pragma unroll
        for (int w = 0; w < 4; ++w)
            v[w] = word_of<WIDE>(block, w) < left ? *(const unsigned*)(row + word_of<WIDE>(block, w)) : 0;
    }
}

template <bool WIDE>
__device__ __forceinline__ void write(const unsigned (&v)[4], __half* row, int block, int left) {
    if (WIDE) {
        if (8 * block < left) *(uint4*)(row + 8 * block) = uint4{v[0], v[1], v[2], v[3]};
    } else {
#pragma unroll
        for (int w = 0; w < 4; ++w)
            if (word_of<WIDE>(block, w) < left) *(unsigned*)(row + word_of<WIDE>(block, w)) = v[w];
    }
}

template <int M, bool WIDE>
__device__ __forceinline__ void columns(const Left<M>& l, __half* y, int N, int K, int c) {
    const int g = (threadIdx.x & 31) / 4, q = threadIdx.x & 3, left = K - c, block = g / 2 + 4 * (g & 1);
    unsigned b[M][8][2];
#pragma unroll
    for (int k = 0; k < M; ++k)
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            const int row = 16 * k + 8 * part + 2 * q;
            unsigned u[4] = {}, v[4] = {};
            if (row < N) read<WIDE>(u, y + row * K + c, block, left);
            if (row + 1 < N) read<WIDE>(v, y + (row + 1) * K + c, block, left);
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                b[k][2 * w][part] = __byte_perm(u[w], v[w], 0x5410);
                b[k][2 * w + 1][part] = __byte_perm(u[w], v[w], 0x7632);
            }
        }
    __syncwarp();
#pragma unroll
    for (int m = 0; m < M; ++m) {
        float sum[8][4];
#pragma unroll
        for (int t = 0; t < 8; ++t) {
            sum[t][0] = sum[t][1] = sum[t][2] = sum[t][3] = 0.f;
#pragma unroll
            for (int k = 0; k < M; ++k) multiply(sum[t], l.left[m][k], b[k][t][0], b[k][t][1]);
#pragma unroll
            for (int k = 0; k < M; ++k) multiply(sum[t], l.rest[m][k], b[k][t][0], b[k][t][1]);
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = 16 * m + 8 * r + g;
            const float by = l.factor[m][r];
            if (row < N)
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    unsigned v[4];
#pragma unroll
                    for (int w = 0; w < 4; ++w)
                        v[w] = pair_of(sum[2 * w][2 * r + e] * by, sum[2 * w + 1][2 * r + e] * by);
                    write<WIDE>(v, y + row * K + c, q + 4 * e, left);
                }
        }
    }
    __syncwarp();
}

template <int M>
__device__ __forceinline__ void samples(const __half* x, const __half* y, __half* out, long long B, int N, int D, int K,
                                        unsigned char* memory) {
    __half* here = (__half*)(memory + HEAD);
    const unsigned bytes = 2 * N * K;
    if (threadIdx.x == 0) make_barrier(memory);
    __syncthreads();
    unsigned parity = 0;
    for (long long b = blockIdx.x; b < B; b += gridDim.x, parity ^= 1) {
        if (threadIdx.x == 0) {
            fetch(here, y + b * N * K, bytes, memory);
            order_ahead(x + b * N * D, 2 * N * D);
            if (AHEAD > 0 && b + AHEAD < B) {
                order_ahead(x + (b + AHEAD) * N * D, 2 * N * D);
                order_ahead(y + (b + AHEAD) * N * K, bytes);
            }
        }
        Left<M> l;
        {
            float g[M][2 * M][4];
            gram(g, x + b * N * D, N, D);
            split(g, l);
        }
        wait(memory, parity);
        for (int c = threadIdx.x / 32 * 64; c < K; c += WARPS * 64) {
            if (K % 8 == 0) columns<M, true>(l, here, N, K, c);
            else columns<M, false>(l, here, N, K, c);
        }
        before_sending();
        __syncthreads();
        if (threadIdx.x == 0) send(out + b * N * K, here, bytes);
    }
}

// Any shape: a row of the result at a time.
__device__ __forceinline__ void plain(const __half* x, const __half* y, __half* out, long long B, int N, int D, int K,
                                      float* row) {
    for (long long place = blockIdx.x; place < B * N; place += gridDim.x) {
        const long long b = place / N;
        const __half *mine = x + place * D, *all = x + b * N * D, *from = y + b * N * K;
        __syncthreads();
        for (int j = threadIdx.x; j < N; j += blockDim.x) {
            float sum = 0.f;
            for (int d = 0; d < D; ++d) sum = fmaf(__half2float(mine[d]), __half2float(all[(long long)j * D + d]), sum);
            row[j] = sum;
        }
        __syncthreads();
        for (int k = threadIdx.x; k < K; k += blockDim.x) {
            float sum = 0.f;
            for (int j = 0; j < N; ++j) sum = fmaf(row[j], __half2float(from[(long long)j * K + k]), sum);
            out[place * K + k] = __float2half_rn(sum);
        }
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, PER_SM * 4 / WARPS > 0 ? PER_SM * 4 / WARPS : 1)
fm(const __half* __restrict__ x, const __half* __restrict__ y, __half* __restrict__ out, long long B, long long N,
   long long D, long long K) {
    extern __shared__ __align__(128) unsigned char memory[];
    const bool fits = N <= 48 && D % 8 == 0 && K % 2 == 0 && N * K % 8 == 0 && 2 * N * K < LARGEST;
    if (fits && N <= 32) samples<2>(x, y, out, B, (int)N, (int)D, (int)K, memory);
    else if (fits) samples<3>(x, y, out, B, (int)N, (int)D, (int)K, memory);
    else plain(x, y, out, B, (int)N, (int)D, (int)K, (float*)memory);
}
