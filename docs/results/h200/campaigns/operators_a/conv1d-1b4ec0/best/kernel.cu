// conv1d: step 10 of campaign conv1d-1b4ec0
#define KE_DTYPE_float16 1
#define DEPTH 32
#define COPIES 1
#define LEAD 2
#define FROM 256
// recipe: resident_or_ring
// family: conv1d
// summary: 96 x 96 channels: weights stay in registers; else x is turned once, and a ring of stages feeds wgmma
// isa: sm_90
// dtype: float16
// knob DEPTH = 32 16
// knob COPIES = 1 3
// knob LEAD = 2 0 4
// knob FROM = 128 1 256
// order: 12
//
// `resident`, as in register_weights, takes 96 channels, up to 200 positions and FROM samples or more; then the other
// launches have next to no blocks. `prepare` and `conv`, as in warpgroup_taps, take the rest.
#include <cuda_fp16.h>
#define UNROLLED _Pragma("unroll")

static constexpr int BLOCK_N = 256, TILE = 128;              // positions and output channels of a tile
static constexpr int GROUPS = DEPTH / 8;                     // items across a stage
static constexpr int PLANE = BLOCK_N + 12 - 4 * COPIES;      // items of one group in a stage: the tile, and its borders
static constexpr int COPIED = COPIES == 1 ? BLOCK_N + 2 : BLOCK_N;  // of those, fetched
static constexpr int W_BYTES = 3 * GROUPS * TILE * 16, STAGE_BYTES = W_BYTES + COPIES * GROUPS * PLANE * 16;
static constexpr int FETCHED = W_BYTES + COPIES * GROUPS * COPIED * 16;
static constexpr int SHARED = 230400, STAGES = SHARED / STAGE_BYTES < 12 ? SHARED / STAGE_BYTES : 12;
static constexpr int AHEAD = LEAD < STAGES - 1 ? LEAD : STAGES - 1;
static constexpr int SUMS = BLOCK_N / 2, CONSUMERS = 8;      // a thread's sums; warps, and four more that fetch
static constexpr int WIDTH = 96, WARPS = 6, TEAMS = 2, LONGEST = 200, STEP = 5;
static constexpr int SAMPLE = WIDTH * LONGEST * 2;  // bytes
static constexpr int STAGED = 145;                  // words from row to row of staged weights: spreads over the banks

struct Sizes {
    long long B, CI, CO, L;
    __device__ __forceinline__ bool resident() const {
        return CI == WIDTH && CO == WIDTH && L % 8 == 0 && L <= LONGEST && B >= FROM;
    }
    __device__ __forceinline__ long long pitch() const { return (L + 8) / 8 * 8; }  // rows of a sample, zeros behind
    __device__ __forceinline__ long long n_tiles() const { return (B * pitch() + BLOCK_N - 1) / BLOCK_N; }
    __device__ __forceinline__ long long rows() const { return n_tiles() * BLOCK_N + 8; }
    __device__ __forceinline__ int co_tiles() const { return (int)((CO + TILE - 1) / TILE); }
    __device__ __forceinline__ int n_stages() const { return (int)((CI + DEPTH - 1) / DEPTH); }
};

// Eight channels of one output channel, tap by tap.
__device__ __forceinline__ void pack_item(const __half* weight, uint4* packed, const Sizes& n, long long at) {
    const int groups = n.n_stages() * GROUPS;
    const long long co = at / (TILE * groups) * TILE + at % TILE;
    const int group = (int)(at / TILE % groups);
    __align__(16) __half from[24], to[3][8];
    const __half* source = weight + (co * n.CI + 8 * group) * 3;
    if (n.CI % 8 == 0 && co < n.CO && 8 * group < n.CI) {
        UNROLLED for (int i = 0; i < 3; ++i) ((uint4*)from)[i] = ((const uint4*)source)[i];
    } else {
        UNROLLED for (int i = 0; i < 24; ++i) from[i] = co < n.CO && 8 * group + i / 3 < n.CI ? source[i] : __half(0.f);
    }
    UNROLLED for (int i = 0; i < 24; ++i) to[i % 3][i / 3] = from[i];
    const long long stage = co / TILE * n.n_stages() + group / GROUPS;
    UNROLLED for (int tap = 0; tap < 3; ++tap)
        packed[((stage * 3 + tap) * GROUPS + group % GROUPS) * TILE + co % TILE] = *(const uint4*)to[tap];
}

// Row r of `turned` is position r - 1, counted over all samples with their rows of zeros; row 0 is one of zeros.
extern "C" __global__ void __launch_bounds__(256)
prepare(const __half* __restrict__ x, const __half* __restrict__ weight, uint4* __restrict__ turned,
        uint4* __restrict__ packed, long long B, long long CI, long long CO, long long L) {
    const Sizes n{B, CI, CO, L};
    if (n.resident()) return;
    if (blockIdx.x < n.co_tiles()) {
        pack_item(weight, packed, n, ((long long)blockIdx.x * gridDim.y + blockIdx.y) * 256 + threadIdx.x);
        return;
    }
    const long long row0 = (long long)(blockIdx.x - n.co_tiles()) * 256;
    const int group = 2 * blockIdx.y, pitch = (int)n.pitch();
    const long long row = row0 + threadIdx.x, last = B * n.pitch();
    if (row > last) return;
    // One row more, so that row 0 is the last of zeros of a sample before the first.
    const long long b0 = (row0 + pitch - 1) / pitch;
    const unsigned l0 = (unsigned)((row0 + pitch - 1) % pitch) + threadIdx.x;
    const long long b = b0 + l0 / pitch - 1;
    const unsigned l = l0 % pitch;
    const bool inside = b >= 0 && l < L;
    __align__(16) unsigned short item[2][8];
    const unsigned short* from = (const unsigned short*)x + (b * CI + 8 * group) * L + l;
    UNROLLED for (int i = 0; i < 16; ++i)
        item[i / 8][i % 8] = inside && 8 * group + i < CI ? __ldcs(from + i * L) : (unsigned short)0;
    UNROLLED for (int i = 0; i < 2; ++i) turned[(group + i) * n.rows() + row] = *(const uint4*)item[i];
}

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    unsigned done;
    do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                    : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    while (!done);
}
__device__ __forceinline__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void start_barrier(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void fetch(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

__device__ __forceinline__ void multiply_16x8(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
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

extern "C" __global__ void __launch_bounds__(32 * WARPS * TEAMS, 1)
resident(const __half* __restrict__ x, const __half* __restrict__ weight, const __half* __restrict__ bias,
         __half* __restrict__ out, long long B, long long CI, long long CO, long long L) {
    if (!Sizes{B, CI, CO, L}.resident()) return;
    extern __shared__ __align__(128) unsigned char memory[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, group = warp / WARPS, w = warp % WARPS;
    const int g = lane / 4, q = lane & 3, length = (int)L, pitch = 2 * length, n_tiles = length / 8;
    const unsigned bytes = WIDTH * pitch, base = shared_address(memory), input = base + 2 * group * SAMPLE;
    const unsigned output = base + (4 + group) * SAMPLE + 16 * w * pitch;
    const unsigned barriers = base + 6 * SAMPLE + 32 * group;  // filled 0, filled 1, emptied 0, emptied 1
    const bool producer = w == 0 && lane == 0;
    if (producer) {
        for (int i = 0; i < 4; ++i) start_barrier(barriers + 8 * i, i < 2 ? 1 : WARPS);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    const long long start = (long long)group * gridDim.x + blockIdx.x, stride = (long long)TEAMS * gridDim.x;
    const long long sample = (long long)WIDTH * length;
    if (producer)
        for (int i = 0; i < 2; ++i)
            if (const long long b = start + i * stride; b < B) {
                expect(barriers + 8 * i, bytes);
                fetch(input + i * SAMPLE, x + b * sample, bytes, barriers + 8 * i);
            }
    unsigned* staged = (unsigned*)(memory + 4 * SAMPLE);
    for (int i = threadIdx.x; i < WIDTH * 144; i += 32 * WARPS * TEAMS)
        staged[i / 144 * STAGED + i % 144] = ((const unsigned*)weight)[i];
    __syncthreads();
    unsigned a[3][6][4];
    UNROLLED for (int kt = 0; kt < 6; ++kt)
        UNROLLED for (int part = 0; part < 4; ++part) {
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
            UNROLLED for (int j = 0; j < STEP; ++j)
                UNROLLED for (int i = 0; i < 4; ++i) y[j][0][i] = y[j][2][i] = 0.f, y[j][1][i] = i < 2 ? bias0 : bias8;
            UNROLLED for (int kt = 0; kt < 6; kt += 2)
                UNROLLED for (int j = 0; j < STEP; ++j) {  // beyond the last tile: bytes of another row, never used
                    unsigned r[4];
                    load_turned(r, from + 16 * kt * pitch + 16 * (j0 + j));
                    UNROLLED for (int tap = 0; tap < 3; ++tap) multiply_16x8(y[j][tap], a[tap][kt], r[0], r[1]);
                    UNROLLED for (int tap = 0; tap < 3; ++tap) multiply_16x8(y[j][tap], a[tap][kt + 1], r[2], r[3]);
                }
            UNROLLED for (int j = 0; j < STEP; ++j) {
                if (j0 + j >= n_tiles) break;
                if (j0 + j > 0) finish(held, y[j][2][0], y[j][2][2], q, to + 16 * (j0 + j - 1), 8 * pitch);
                held = shifted(y[j], held, q);
            }
            if (j0 == 0 && turn > 0 && producer && b + stride < B) {  // the other buffer's readers are done by now
                const unsigned other = (turn + 1) & 1;
                wait(barriers + 16 + 8 * other, (turn - 1) >> 1 & 1);
                expect(barriers + 8 * other, bytes);
                fetch(input + other * SAMPLE, x + (b + stride) * sample, bytes, barriers + 8 * other);
            }
            __syncwarp();
        }
        finish(held, 0.f, 0.f, q, to + 16 * (n_tiles - 1), 8 * pitch);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncwarp();
        if (lane == 0) {
            arrive(barriers + 16 + 8 * (turn & 1));
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                             out + b * sample + 16LL * w * length), "r"(output), "r"(16 * pitch) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (lane == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

#define SUMS_8(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), \
                  "+f"(c[i + 6]), "+f"(c[i + 7])

// 64 x BLOCK_N sums of a warpgroup, over 16 channels. `add` = 0: what the registers held does not count.
__device__ __forceinline__ void multiply(float (&c)[SUMS], unsigned long long a, unsigned long long b, int add) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "
        "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
        "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, "
        "%57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, "
        "%76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, "
        "%95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, "
        "%114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, p, 1, 1, 0, 0; }"
        : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56),
          SUMS_8(64), SUMS_8(72), SUMS_8(80), SUMS_8(88), SUMS_8(96), SUMS_8(104), SUMS_8(112), SUMS_8(120)
        : "l"(a), "l"(b), "r"(add));
}

// How wgmma finds an operand without swizzle: bytes/16 between the two halves of its 16 channels, and between blocks of
// eight rows, which lie 16 bytes apart.
__device__ __forceinline__ unsigned long long operand(unsigned address, int halves) {
    return (unsigned long long)(address >> 4) | (unsigned long long)halves << 16 | 8ULL << 32;
}

// Lane q of four neighbours gives its pairs of four blocks of 8 positions, and gets the whole block q.
__device__ __forceinline__ uint4 gathered(unsigned v0, unsigned v1, unsigned v2, unsigned v3, int q) {
    const bool odd = q & 1, high = q & 2;
    const unsigned r0 = __shfl_xor_sync(~0u, odd ? v0 : v1, 1), r1 = __shfl_xor_sync(~0u, odd ? v2 : v3, 1);
    const unsigned a0 = odd ? r0 : v0, a1 = odd ? v1 : r0;  // block 0 or 1, of the even and the odd lane
    const unsigned b0 = odd ? r1 : v2, b1 = odd ? v3 : r1;  // block 2 or 3
    const unsigned s0 = __shfl_xor_sync(~0u, high ? a0 : b0, 2), s1 = __shfl_xor_sync(~0u, high ? a1 : b1, 2);
    return high ? make_uint4(s0, s1, b0, b1) : make_uint4(a0, a1, s0, s1);
}

__device__ __forceinline__ unsigned rounded(float u, float v) {
    const __half2 pair = __floats2half2_rn(u, v);
    return *(const unsigned*)&pair;
}

__device__ __forceinline__ void put(__half* to, uint4 value, int left, bool whole) {
    if (left <= 0) return;
    if (whole) return __stcs((uint4*)to, value);
    const unsigned words[4] = {value.x, value.y, value.z, value.w};
    UNROLLED for (int i = 0; i < 8; ++i)
        if (i < left) ((unsigned short*)to)[i] = (unsigned short)(words[i / 2] >> 16 * (i & 1));
}

// Sums of one warpgroup's tile, with bias, to out. co: of the warp's first row.
__device__ __forceinline__ void store(const float (&c)[SUMS], const __half* __restrict__ bias, __half* __restrict__ out,
                                      const Sizes& n, long long tile, int co) {
    const int lane = threadIdx.x & 31, q = lane & 3, row = co + lane / 4, pitch = (int)n.pitch();
    const float add0 = row < n.CO ? __half2float(bias[row]) : 0.f;
    const float add8 = row + 8 < n.CO ? __half2float(bias[row + 8]) : 0.f;
    const long long b0 = tile * BLOCK_N / pitch;
    const unsigned l0 = (unsigned)(tile * BLOCK_N % pitch);
    const bool whole = n.L % 8 == 0;
    UNROLLED for (int i = 0; i < BLOCK_N / 32; ++i) {
        const float* s = c + 16 * i;
        const uint4 upper = gathered(rounded(s[0] + add0, s[1] + add0), rounded(s[4] + add0, s[5] + add0),
                                     rounded(s[8] + add0, s[9] + add0), rounded(s[12] + add0, s[13] + add0), q);
        const uint4 lower = gathered(rounded(s[2] + add8, s[3] + add8), rounded(s[6] + add8, s[7] + add8),
                                     rounded(s[10] + add8, s[11] + add8), rounded(s[14] + add8, s[15] + add8), q);
        const unsigned at = l0 + 8 * (4 * i + q);
        const long long b = b0 + at / pitch;
        const int l = (int)(at % pitch), left = b < n.B ? (int)n.L - l : 0;
        __half* to = out + (b * n.CO + row) * n.L + l;
        if (row < n.CO) put(to, upper, left, whole);
        if (row + 8 < n.CO) put(to + 8 * n.L, lower, left, whole);
    }
}

struct Ring {
    unsigned memory, filled, emptied;
    unsigned slot = 0, parity = 0;
    __device__ __forceinline__ void next() {
        if (++slot == STAGES) slot = 0, parity ^= 1;
    }
};

__device__ __forceinline__ void produce(Ring ring, const uint4* turned, const uint4* packed, const Sizes& n) {
    const int co_tiles = n.co_tiles(), n_stages = n.n_stages();
    const long long rows = n.rows();
    bool first = true;
    for (long long i = blockIdx.x; i < n.n_tiles() * co_tiles; i += gridDim.x) {
        const uint4* w = packed + i % co_tiles * n_stages * (W_BYTES / 16);
        const uint4* x = turned + i / co_tiles * BLOCK_N;
        for (int s = 0; s < n_stages; ++s) {
            if (!first) wait(ring.emptied + 8 * ring.slot, ring.parity ^ 1);
            const unsigned barrier = ring.filled + 8 * ring.slot, to = ring.memory + ring.slot * STAGE_BYTES;
            expect(barrier, FETCHED);
            fetch(to, w + (long long)s * (W_BYTES / 16), W_BYTES, barrier);
            UNROLLED for (int g = 0; g < COPIES * GROUPS; ++g)
                fetch(to + W_BYTES + g * PLANE * 16, x + (s * GROUPS + g % GROUPS) * rows + g / GROUPS, COPIED * 16,
                      barrier);
            ring.next();
            if (ring.slot == 0) first = false;
        }
    }
}

__device__ __forceinline__ void products(float (&c)[SUMS], unsigned stage, int group, bool fresh) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    UNROLLED for (int k = 0; k < DEPTH / 16; ++k)
        UNROLLED for (int tap = 0; tap < 3; ++tap) {
            const unsigned w = stage + ((tap * GROUPS + 2 * k) * TILE + 64 * group) * 16;
            const int x = COPIES == 1 ? 2 * k * PLANE + tap : (tap * GROUPS + 2 * k) * PLANE;
            multiply(c, operand(w, TILE), operand(stage + W_BYTES + x * 16, PLANE), k + tap > 0 || !fresh);
        }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void consume(Ring ring, const __half* bias, __half* out, const Sizes& n) {
    const int warp = threadIdx.x / 32, group = warp / 4, co_tiles = n.co_tiles(), n_stages = n.n_stages();
    const bool speaks = (threadIdx.x & 31) == 0;
    float c[SUMS] = {};
    bool behind = AHEAD > 0;  // the second warpgroup waits once, for the first one's stage AHEAD
    for (long long i = blockIdx.x; i < n.n_tiles() * co_tiles; i += gridDim.x) {
        const int co = (int)(i % co_tiles) * TILE + 64 * group;
        const bool busy = co < n.CO;
        if (behind && group == 1) {
            asm volatile("bar.sync 1, 256;" ::: "memory");
            behind = false;
        }
        unsigned before = 0;
        for (int s = 0; s < n_stages; ++s) {
            wait(ring.filled + 8 * ring.slot, ring.parity);
            if (busy) {
                products(c, ring.memory + ring.slot * STAGE_BYTES, group, s == 0);
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            }
            __syncwarp();  // the barrier may move on only when all lanes have seen it
            if (s > 0 && speaks) arrive(before);
            before = ring.emptied + 8 * ring.slot;
            ring.next();
            if (behind && group == 0 && (s == AHEAD - 1 || s == n_stages - 1)) {
                asm volatile("bar.arrive 1, 256;" ::: "memory");
                behind = false;
            }
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncwarp();
        if (speaks) arrive(before);
        if (busy) store(c, bias, out, n, i / co_tiles, co + 16 * (warp & 3));
    }
}

extern "C" __global__ void __launch_bounds__(32 * CONSUMERS + 128, 1)
conv(const uint4* __restrict__ turned, const uint4* __restrict__ packed, const __half* __restrict__ bias,
     __half* __restrict__ out, long long B, long long CI, long long CO, long long L) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const Sizes n{B, CI, CO, L};
    if (n.resident()) return;
    const unsigned base = shared_address(memory), barriers = base + STAGES * STAGE_BYTES;
    const Ring ring{base, barriers, barriers + 8 * STAGES};
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2 * STAGES; ++i) start_barrier(barriers + 8 * i, i < STAGES ? 1 : CONSUMERS);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 32 * CONSUMERS) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(ring, bias, out, n);
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 32 * CONSUMERS) produce(ring, turned, packed, n);
    }
}
