// recipe: predicated_cells
// family: bucketize
// summary: evenly wide cells in shared memory as in linear_cells; STEPS comparisons without a branch settle most values
// isa: sm_90
// knob THREADS = 512 256 1024
// knob FOURS = 2 1 4
// knob CELLS_PER_BORDER = 8 4 16
// knob STEPS = 3 2 4
// order: 25
//
// The cell of a value grows with the value, so a value's bucket lies between where its cell's borders begin and end.
// Where the borders do not fit into shared memory, all of them are halved instead. 1024 threads a multiprocessor.
#define WORDS 40960  // 160 KB for all blocks of a multiprocessor
#define BLOCKS (1024 / THREADS)
#define ROOM (WORDS / BLOCKS)
#define MAX_SHARED_BORDERS (ROOM / 2 < 65000 ? ROOM / 2 : 65000)

struct Cells {
    float scale, offset, last;
    __device__ Cells(const float* borders, int M, int n) {
        const float low = M > 0 ? fminf(fmaxf(borders[0], -1e30f), 1e30f) : 0.0f;
        const float high = M > 0 ? fminf(fmaxf(borders[M - 1], -1e30f), 1e30f) : 0.0f;
        scale = high > low ? fminf(1.0f / (high - low), 1e30f) : 0.0f;
        offset = -low * scale;
        last = (float)(n - 1);
    }
    // Each step rounds without changing the order; NaN goes to the first cell.
    __device__ __forceinline__ int of(float x) const {
        return (int)(__saturatef(__fmaf_rn(fminf(fmaxf(x, -3e38f), 3e38f), scale, offset)) * last);
    }
};

// Borders below x, of which the first `at` are known to be and those from `at + count` on are not. Not for NaN.
__device__ __noinline__ int below(const float* borders, int at, int count, float x) {
    while (count > 0) {
        const int half = count / 2;
        if (borders[at + half] < x) at += half + 1, count -= half + 1;
        else count = half;
    }
    return at;
}

// NaN belongs above every border.
__device__ __forceinline__ int finish(const float*, int M, int bucket, float x) { return x == x ? bucket : M; }

// Low half of a word: the cell's first border; high half: that of the next cell.
__device__ void fill_cells(const float* borders, float* own, unsigned* words, Cells cells, int M, int n) {
    unsigned short* halves = reinterpret_cast<unsigned short*>(words);
    for (int i = threadIdx.x; i < M; i += THREADS) own[i] = borders[i];
    __syncthreads();
    for (int i = threadIdx.x; i <= M; i += THREADS) {
        const int from = i == 0 ? 0 : cells.of(own[i - 1]) + 1, to = i == M ? n : cells.of(own[i]);
        for (int c = from; c <= to; ++c) {
            halves[2 * c] = (unsigned short)i;
            if (c > 0) halves[2 * c - 1] = (unsigned short)i;
        }
    }
    __syncthreads();
}

struct Search {
    const float* table;
    const unsigned* words;
    int M;
    bool shared;

    __device__ __forceinline__ int4 four(const Cells& cells, float4 v) const {
        const float x[4] = {v.x, v.y, v.z, v.w};
        int at[4], count[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned word = shared ? words[cells.of(x[j])] : (unsigned)M << 16;
            at[j] = (int)(word & 0xffffu);
            count[j] = shared ? (int)(word >> 16) - at[j] : M;
        }
        if (max(max(count[0], count[1]), max(count[2], count[3])) > STEPS) {
#pragma unroll 1
            for (int j = 0; j < 4; ++j) {
                const float wanted = j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
                const int from = j == 0 ? at[0] : j == 1 ? at[1] : j == 2 ? at[2] : at[3];
                const int many = j == 0 ? count[0] : j == 1 ? count[1] : j == 2 ? count[2] : count[3];
                const int found = below(table, from, many, wanted);
                if (j == 0) at[0] = found;
                else if (j == 1) at[1] = found;
                else if (j == 2) at[2] = found;
                else at[3] = found;
            }
        } else {
            int found[4] = {at[0], at[1], at[2], at[3]};
#pragma unroll
            for (int k = 0; k < STEPS; ++k) {
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    if (k < count[j] && table[at[j] + k] < x[j]) ++found[j];
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) at[j] = found[j];
        }
        return int4{finish(table, M, at[0], x[0]), finish(table, M, at[1], x[1]), finish(table, M, at[2], x[2]),
                    finish(table, M, at[3], x[3])};
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
bucketize(const float* __restrict__ values, const float* __restrict__ borders, int* __restrict__ out, long long N,
          int M) {
    extern __shared__ float room[];
    const long long n_fours = N / 4, step = (long long)gridDim.x * (THREADS * FOURS);
    long long base = (long long)blockIdx.x * (THREADS * FOURS) + threadIdx.x;
    const float4* wanted = reinterpret_cast<const float4*>(values);
    float4 x[FOURS];  // each is read again as soon as it is answered
#pragma unroll
    for (int k = 0; k < FOURS; ++k) {
        const long long p = base + k * THREADS;
        x[k] = p < n_fours ? __ldcs(wanted + p) : float4{0.0f, 0.0f, 0.0f, 0.0f};
    }
    const bool shared = M > 0 && M <= MAX_SHARED_BORDERS;
    const int n_cells = shared ? min(CELLS_PER_BORDER * M, ROOM - M - 1) : 1;
    unsigned* words = reinterpret_cast<unsigned*>(room + (shared ? M : 0));
    const Cells cells(borders, M, n_cells);
    if (shared) fill_cells(borders, room, words, cells, M, n_cells);
    const Search search{shared ? room : borders, words, M, shared};
    for (; base < n_fours; base += step) {
#pragma unroll
        for (int k = 0; k < FOURS; ++k) {
            const long long p = base + k * THREADS, next = p + step;
            const int4 r = search.four(cells, x[k]);
            if (next < n_fours) x[k] = __ldcs(wanted + next);
            if (p < n_fours) __stcs(reinterpret_cast<int4*>(out) + p, r);
        }
    }
    const long long i = n_fours * 4 + threadIdx.x;
    if (blockIdx.x == 0 && i < N) out[i] = search.four(cells, float4{values[i], 0.0f, 0.0f, 0.0f}).x;
}
