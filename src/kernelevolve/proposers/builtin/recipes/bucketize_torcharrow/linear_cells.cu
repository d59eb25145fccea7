// recipe: linear_cells
// family: bucketize_torcharrow
// summary: borders and evenly wide cells in shared memory, built by every block; a value searches its own cell
// isa: sm_90
// knob THREADS = 512 256 1024
// knob FOURS = 2 1 4
// knob BLOCKS_PER_SM = 4 2 8
// knob CELLS_PER_BORDER = 4 2 8
// knob SHARED_KB = 40 20 32
// order: 20
//
// The cell of a value grows with the value, so a value's bucket lies between where its cell's borders begin and end.
// Where the borders do not fit into shared memory, all of them are halved instead.
#define WORDS (SHARED_KB * 256)
#define MAX_SHARED_BORDERS (WORDS / 2 < 65000 ? WORDS / 2 : 65000)

__device__ __forceinline__ float bounded(float x) { return fminf(fmaxf(x, -1e30f), 1e30f); }

struct Cells {
    float low, high, scale;
    int last;
    __device__ Cells(float lowest, float highest, int n) {
        low = bounded(lowest);
        high = bounded(highest);
        scale = high > low ? fminf(n / (high - low), 1e30f) : 0.0f;
        last = n - 1;
    }
    __device__ __forceinline__ int of(float x) const {
        return max(0, min(last, (int)((fminf(fmaxf(x, low), high) - low) * scale)));
    }
};

// Borders below x, of which the first `at` are known to be and those from `at + count` on are not. Not for NaN.
__device__ __forceinline__ int below(const float* borders, int at, int count, float x) {
    const int end = at + count;
    while (count > 4) {
        const int half = count / 2;
        at += borders[at + half - 1] < x ? half : 0;
        count -= half;
    }
    while (at < end && borders[at] < x) ++at;
    return at;
}

// A value on a border that is stored twice goes between the twins. NaN goes first, and then counts as on such a border.
__device__ __forceinline__ int finish(const float* borders, int M, int bucket, float x) {
    if (!(x == x)) return M > 1 ? 1 : 0;
    return bucket < M - 1 && !(x < borders[bucket + 1]) ? bucket + 1 : bucket;
}

// Low half of a word: the cell's first border; high half: that of the next cell.
__device__ void fill_cells(const float* borders, float* own, unsigned* words, Cells cells, int M) {
    unsigned short* halves = reinterpret_cast<unsigned short*>(words);
    for (int i = threadIdx.x; i < M; i += THREADS) own[i] = borders[i];
    __syncthreads();
    for (int i = threadIdx.x; i <= M; i += THREADS) {
        const int from = i == 0 ? 0 : cells.of(own[i - 1]) + 1, to = i == M ? cells.last + 1 : cells.of(own[i]);
        for (int c = from; c <= to; ++c) halves[2 * c] = (unsigned short)i;
    }
    __syncthreads();
    for (int c = threadIdx.x; c <= cells.last; c += THREADS) halves[2 * c + 1] = halves[2 * c + 2];
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS)
bucketize(const float* __restrict__ values, const float* __restrict__ borders, int* __restrict__ out, long long N,
          int M) {
    __shared__ float room[WORDS];
    const bool shared = M > 0 && M <= MAX_SHARED_BORDERS;
    const int n_cells = shared ? min(CELLS_PER_BORDER * M, WORDS - M - 1) : 1;
    unsigned* words = reinterpret_cast<unsigned*>(room + (shared ? M : 0));
    const Cells cells(M > 0 ? borders[0] : 0.0f, M > 0 ? borders[M - 1] : 0.0f, n_cells);
    if (shared) fill_cells(borders, room, words, cells, M);
    const float* table = shared ? room : borders;
    const auto bucket = [&](float x) {
        if (M == 0) return 0;
        int at = 0, count = M;
        if (shared) {
            const unsigned word = words[cells.of(x)];
            at = (int)(word & 0xffffu);
            count = (int)(word >> 16) - at;
        }
        return finish(table, M, below(table, at, count, x), x);
    };
    const long long n_fours = N / 4, step = (long long)gridDim.x * (THREADS * FOURS);
    for (long long p = (long long)blockIdx.x * (THREADS * FOURS) + threadIdx.x; p < n_fours; p += step) {
        float4 x[FOURS];
#pragma unroll
        for (int k = 0; k < FOURS; ++k)
            if (p + k * THREADS < n_fours) x[k] = __ldcs(reinterpret_cast<const float4*>(values) + p + k * THREADS);
#pragma unroll
        for (int k = 0; k < FOURS; ++k)
            if (p + k * THREADS < n_fours) {
                const int4 r{bucket(x[k].x), bucket(x[k].y), bucket(x[k].z), bucket(x[k].w)};
                __stcs(reinterpret_cast<int4*>(out) + p + k * THREADS, r);
            }
    }
    const long long i = n_fours * 4 + threadIdx.x;
    if (blockIdx.x == 0 && i < N) out[i] = bucket(values[i]);
}
