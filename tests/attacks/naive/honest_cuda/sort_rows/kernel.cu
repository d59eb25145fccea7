// Where a value belongs is how many come before it; equal ones keep their order.
extern "C" __global__ void sort_row(const float* x, long long* order, long long R, long long C) {
    __shared__ float tile[1024];
    const long long row = blockIdx.x * C, i = blockIdx.y * 128LL + threadIdx.x;
    const float mine = i < C ? x[row + i] : 0.0f;
    long long rank = 0;
    for (long long first = 0; first < C; first += 1024) {
        __syncthreads();
        for (int k = threadIdx.x; k < 1024; k += 128) tile[k] = first + k < C ? x[row + first + k] : 0.0f;
        __syncthreads();
        const int n = C - first < 1024 ? (int)(C - first) : 1024;
        for (int k = 0; k < n; ++k) rank += tile[k] < mine || (tile[k] == mine && first + k < i);
    }
    if (i < C) order[row + rank] = i;
}
