// recipe: register_weights
// family: conv1d
// summary: 96 x 96 channels, up to 200 positions: weights stay in registers, samples stream through; else by tiles
// isa: sm_90
// dtype: float16
// knob STEP = 5 3 1 2
// knob STAGES = 3 2
// knob ROWS = 2 4
// order: 10
//
// A warp owns 16 output channels. It keeps one sum per tap, so that all three read the same aligned tile, and moves the
// sums of the first and last tap by one position at the end: a shuffle between neighbours instead of unaligned loads.
// STEP: blocks of 8 positions in flight. Of the tiled kernel, which takes every other shape: STAGES of its copies, ROWS
// of 16 output channels a warp.
#include <cuda_fp16.h>

static constexpr int WIDTH = 96, WARPS = 6, GROUPS = 2, LONGEST = 200;
static constexpr int SAMPLE = WIDTH * LONGEST * 2;  // bytes
static constexpr int STAGED = 145;                  // words from row to row of staged weights: spreads over the banks

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}

__device__ __forceinline__ void fetch(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void load_turned(unsigned (&r)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

// Two neighbouring input channels with three taps each lie in three words; tap by tap they are three pairs.
__device__ __forceinline__ void by_taps(const unsigned* p, unsigned& first, unsigned& second, unsigned& third) {
    const unsigned u = p[0], v = p[1], w = p[2];
    first = __byte_perm(u, v, 0x7610), second = __byte_perm(u, w, 0x5432), third = __byte_perm(v, w, 0x7610);
}

__device__ __forceinline__ bool resident_shape(long long CI, long long CO, long long L) {
    return CI == WIDTH && CO == WIDTH && L % 8 == 0 && L <= LONGEST;
}

// What waits for its right neighbour: 8 positions of 16 channels.
struct Held {
    float sum[4];
    float last[2], first[2];  // of tap 0, for the tile to the right; of tap 2, for the one to the left
};

__device__ __forceinline__ void finish(const Held& tile, float next0, float next2, int q, unsigned to, unsigned rows8) {
    const int right = (threadIdx.x & 28) | ((q + 1) & 3);
    const float s1 = tile.sum[1] + __shfl_sync(~0u, q == 0 ? next0 : tile.first[0], right);
    const float s3 = tile.sum[3] + __shfl_sync(~0u, q == 0 ? next2 : tile.first[1], right);
    const __half2 upper = __floats2half2_rn(tile.sum[0], s1), lower = __floats2half2_rn(tile.sum[2], s3);
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(*(const unsigned*)&upper) : "memory");
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + rows8), "r"(*(const unsigned*)&lower) : "memory");
}

__device__ __forceinline__ Held shifted(const float (&y)[3][4], const Held& before, int q) {
    const int left = (threadIdx.x & 28) | ((q + 3) & 3);
    Held tile;
    tile.last[0] = y[0][1], tile.last[1] = y[0][3], tile.first[0] = y[2][0], tile.first[1] = y[2][2];
    tile.sum[0] = y[1][0] + y[2][1] + __shfl_sync(~0u, q == 3 ? before.last[0] : y[0][1], left);
    tile.sum[2] = y[1][2] + y[2][3] + __shfl_sync(~0u, q == 3 ? before.last[1] : y[0][3], left);
    tile.sum[1] = y[0][0] + y[1][1], tile.sum[3] = y[0][2] + y[1][3];
    return tile;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS * GROUPS, 1)
resident(const __half* __restrict__ x, const __half* __restrict__ weight, const __half* __restrict__ bias,
         __half* __restrict__ out, long long B, long long CI, long long CO, long long L) {
    if (!resident_shape(CI, CO, L)) return;
    extern __shared__ __align__(128) unsigned char memory[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, group = warp / WARPS, w = warp % WARPS;
    const int g = lane / 4, q = lane & 3, length = (int)L, pitch = 2 * length, n_tiles = length / 8;
    const unsigned bytes = WIDTH * pitch, base = shared_address(memory), input = base + 2 * group * SAMPLE;
    const unsigned output = base + (4 + group) * SAMPLE + 16 * w * pitch;
    const unsigned barriers = base + 6 * SAMPLE + 32 * group;  // filled 0, filled 1, emptied 0, emptied 1
    const bool producer = w == 0 && lane == 0;
    if (producer) {
        for (int i = 0; i < 4; ++i)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barriers + 8 * i), "r"(i < 2 ? 1 : WARPS)
                         : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    const long long start = (long long)group * gridDim.x + blockIdx.x, stride = (long long)GROUPS * gridDim.x;
    const long long sample = (long long)WIDTH * length;
    if (producer)
        for (int i = 0; i < 2; ++i)
            if (start + i * stride < B)
                fetch(input + i * SAMPLE, x + (start + i * stride) * sample, bytes, barriers + 8 * i);

    unsigned* staged = (unsigned*)(memory + 4 * SAMPLE);
    for (int i = threadIdx.x; i < WIDTH * 144; i += 32 * WARPS * GROUPS)
        staged[i / 144 * STAGED + i % 144] = ((const unsigned*)weight)[i];
    __syncthreads();
    unsigned a[3][6][4];
#pragma unroll
    for (int kt = 0; kt < 6; ++kt)
#pragma unroll
        for (int part = 0; part < 4; ++part) {
            const int row = 16 * w + g + 8 * (part & 1), pair = 8 * kt + q + 4 * (part >> 1);
            by_taps(staged + row * STAGED + 3 * pair, a[0][kt][part], a[1][kt][part], a[2][kt][part]);
        }
    const float bias0 = __half2float(bias[16 * w + g]), bias8 = __half2float(bias[16 * w + g + 8]);
    __syncthreads();

    int turn = 0;
    for (long long b = start; b < B; b += stride, ++turn) {
        const unsigned from = input + (turn & 1) * SAMPLE + lane * pitch, to = output + g * pitch + 4 * q;
        wait(barriers + 8 * (turn & 1), turn >> 1 & 1);
        if (lane == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        __syncwarp();
        Held held{};
        for (int j0 = 0; j0 < n_tiles; j0 += STEP) {
            float y[STEP][3][4];
#pragma unroll
            for (int j = 0; j < STEP; ++j)
#pragma unroll
                for (int i = 0; i < 4; ++i) y[j][0][i] = y[j][2][i] = 0.f, y[j][1][i] = i < 2 ? bias0 : bias8;
#pragma unroll
            for (int kt = 0; kt < 6; kt += 2)
#pragma unroll
                for (int j = 0; j < STEP; ++j) {  // beyond the last tile: bytes of another row, never used
                    unsigned r[4];
                    load_turned(r, from + 16 * kt * pitch + 16 * (j0 + j));
#pragma unroll
                    for (int tap = 0; tap < 3; ++tap) multiply(y[j][tap], a[tap][kt], r[0], r[1]);
#pragma unroll
                    for (int tap = 0; tap < 3; ++tap) multiply(y[j][tap], a[tap][kt + 1], r[2], r[3]);
                }
#pragma unroll
            for (int j = 0; j < STEP; ++j) {
                if (j0 + j >= n_tiles) break;
                if (j0 + j > 0) finish(held, y[j][2][0], y[j][2][2], q, to + 16 * (j0 + j - 1), 8 * pitch);
                held = shifted(y[j], held, q);
            }
            if (j0 == 0 && turn > 0 && producer && b + stride < B) {  // the other buffer's readers are done by now
                const unsigned other = (turn + 1) & 1;
                wait(barriers + 16 + 8 * other, (turn - 1) >> 1 & 1);
                fetch(input + other * SAMPLE, x + (b + stride) * sample, bytes, barriers + 8 * other);
            }
            __syncwarp();
        }
        finish(held, 0.f, 0.f, q, to + 16 * (n_tiles - 1), 8 * pitch);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncwarp();
        if (lane == 0) {
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barriers + 16 + 8 * (turn & 1)) : "memory");
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                             out + b * sample + 16LL * w * length), "r"(output), "r"(16 * pitch) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (lane == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Any other shape: 128 channels x 64 * ROWS positions a block, 32 input channels a stage. Eight warps of 16 * ROWS x 64
// each; the first and last tap take their operands from the neighbour's registers.
static constexpr int TILE = 128, LENGTH = 64 * ROWS, DEPTH = 32, ACROSS = ROWS;  // ACROSS: warps side by side
static constexpr int W_PITCH = 208, X_PITCH = 2 * LENGTH + 48;  // bytes from row to row: no bank twice
static constexpr int W_BYTES = TILE * W_PITCH, STAGE_BYTES = W_BYTES + DEPTH * X_PITCH;
static constexpr int X_PIECES = LENGTH / 8 + 2;

__device__ __forceinline__ void copy16(unsigned to, const void* from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

struct Tile {
    const __half *x, *weight;  // of the sample; of the tile's first output channel
    int co, l0, CI, CO, L;
};

template <bool WIDE>
__device__ __forceinline__ void stage(const Tile& t, int i0, unsigned char* to) {
    if (WIDE) {
        for (int i = threadIdx.x; i < TILE * 12; i += 256) {
            const int row = i / 12, piece = i % 12;  // 8 numbers each: channels 8*piece/3 and on
            const bool inside = t.co + row < t.CO && 3 * i0 + 8 * piece < 3 * t.CI;
            copy16(shared_address(to) + row * W_PITCH + 16 * piece,
                   inside ? t.weight + ((long long)row * t.CI + i0) * 3 + 8 * piece : t.weight, inside);
        }
        for (int i = threadIdx.x; i < DEPTH * X_PIECES; i += 256) {
            const int row = i / X_PIECES, l = t.l0 - 8 + 8 * (i % X_PIECES);
            const bool inside = i0 + row < t.CI && l >= 0 && l < t.L;
            copy16(shared_address(to) + W_BYTES + row * X_PITCH + 16 * (i % X_PIECES),
                   inside ? t.x + (long long)(i0 + row) * t.L + l : t.x, inside);
        }
    } else {
        for (int i = threadIdx.x; i < TILE * 96; i += 256) {
            const int row = i / 96, at = 3 * i0 + i % 96;
            const bool inside = t.co + row < t.CO && at < 3 * t.CI;
            ((__half*)(to + row * W_PITCH))[i % 96] = inside ? t.weight[(long long)row * t.CI * 3 + at] : __half(0.f);
        }
        for (int i = threadIdx.x; i < DEPTH * X_PIECES * 8; i += 256) {
            const int row = i / (X_PIECES * 8), l = t.l0 - 8 + i % (X_PIECES * 8);
            const bool inside = i0 + row < t.CI && l >= 0 && l < t.L;
            ((__half*)(to + W_BYTES + row * X_PITCH))[i % (X_PIECES * 8)] =
                inside ? t.x[(long long)(i0 + row) * t.L + l] : __half(0.f);
        }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ __forceinline__ void products(float (&acc)[ROWS][8][4], const unsigned char* from, int kt) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, g = lane / 4, q = lane & 3;
    unsigned a[ROWS][3][4], b[2][4];  // b: four blocks of 8 positions, from the one before the output's
#pragma unroll
    for (int m = 0; m < ROWS; ++m)
#pragma unroll
        for (int part = 0; part < 4; ++part) {
            const int row = (warp / ACROSS * ROWS + m) * 16 + g + 8 * (part & 1), pair = 8 * kt + q + 4 * (part >> 1);
            by_taps((const unsigned*)(from + row * W_PITCH) + 3 * pair, a[m][0][part], a[m][1][part], a[m][2][part]);
        }
    const unsigned x = shared_address(from) + W_BYTES + (16 * kt + (lane & 15)) * X_PITCH + warp % ACROSS * 128 +
                       lane / 16 * 16;
    load_turned(b[0], x);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        if (j % 2 == 0) load_turned(b[(j / 2 + 1) & 1], x + 16 * (j + 2));
        const unsigned *before = b[j / 2 & 1] + 2 * (j & 1), *here = b[(j + 1) / 2 & 1] + 2 * ((j + 1) & 1),
                       *after = b[(j / 2 + 1) & 1] + 2 * (j & 1);
        unsigned left[2], right[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            left[i] = __shfl_sync(~0u, g == 7 ? before[i] : here[i], (lane + 28) & 31);
            right[i] = __shfl_sync(~0u, g == 0 ? after[i] : here[i], (lane + 4) & 31);
        }
#pragma unroll
        for (int m = 0; m < ROWS; ++m) {
            multiply(acc[m][j], a[m][0], left[0], left[1]);
            multiply(acc[m][j], a[m][1], here[0], here[1]);
            multiply(acc[m][j], a[m][2], right[0], right[1]);
        }
    }
}

__device__ __forceinline__ void put(const float (&acc)[ROWS][8][4], const Tile& t, const __half* bias, __half* out) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, g = lane / 4, q = lane & 3;
#pragma unroll
    for (int m = 0; m < ROWS; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = warp / ACROSS * 16 * ROWS + 16 * m + 8 * half + g;
            if (t.co + row >= t.CO) continue;
            const float add = __half2float(bias[t.co + row]);
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const int l = t.l0 + warp % ACROSS * 64 + 8 * j + 2 * q;
                const float u = acc[m][j][2 * half] + add, v = acc[m][j][2 * half + 1] + add;
                __half* to = out + (long long)row * t.L + l;
                if (t.L % 2 == 0 && l < t.L) {
                    *(__half2*)to = __floats2half2_rn(u, v);
                } else {
                    if (l < t.L) to[0] = __float2half_rn(u);
                    if (l + 1 < t.L) to[1] = __float2half_rn(v);
                }
            }
        }
}

template <bool WIDE>
__device__ __forceinline__ void tile(const Tile& t, const __half* bias, __half* out, unsigned char* memory) {
    float acc[ROWS][8][4] = {};
    const int n = (t.CI + DEPTH - 1) / DEPTH;
    for (int s = 0; s < STAGES - 1; ++s)
        if (s < n) stage<WIDE>(t, s * DEPTH, memory + s * STAGE_BYTES);
        else asm volatile("cp.async.commit_group;" ::: "memory");
    for (int s = 0; s < n; ++s) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        const int next = s + STAGES - 1;
        if (next < n) stage<WIDE>(t, next * DEPTH, memory + next % STAGES * STAGE_BYTES);
        else asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll 1
        for (int kt = 0; kt < 2; ++kt) products(acc, memory + s % STAGES * STAGE_BYTES, kt);
    }
    put(acc, t, bias, out);
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(256, ROWS == 2 ? 2 : 1)
tiled(const __half* __restrict__ x, const __half* __restrict__ weight, const __half* __restrict__ bias,
      __half* __restrict__ out, long long B, long long CI, long long CO, long long L) {
    if (resident_shape(CI, CO, L)) return;
    extern __shared__ __align__(128) unsigned char memory[];
    const long long co_tiles = (CO + TILE - 1) / TILE, l_tiles = (L + LENGTH - 1) / LENGTH;
    for (long long i = blockIdx.x; i < B * co_tiles * l_tiles; i += gridDim.x) {
        const long long co = i % co_tiles * TILE, l0 = i / co_tiles % l_tiles * LENGTH, b = i / co_tiles / l_tiles;
        const Tile t{x + b * CI * L, weight + co * CI * 3, (int)co, (int)l0, (int)CI, (int)CO, (int)L};
        __half* to = out + (b * CO + co) * L;
        if (CI % 8 == 0 && L % 8 == 0) tile<true>(t, bias, to, memory);
        else tile<false>(t, bias, to, memory);
    }
}
