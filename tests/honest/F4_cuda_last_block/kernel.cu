__device__ unsigned finished[1 << 17];

extern "C" __global__ void sum(const float* x, double* partial, float* y, long long R, long long C) {
    __shared__ double parts[256];
    double total = 0;
    for (long long c = blockIdx.y * 256LL + threadIdx.x; c < C; c += 4 * 256) total += x[blockIdx.x * C + c];
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x) return;
    double* mine = partial + blockIdx.x * 4;
    mine[blockIdx.y] = parts[0];
    __threadfence();
    if (atomicAdd(finished + blockIdx.x, 1u) < 3) return;
    __threadfence();
    const volatile double* all = mine;
    y[blockIdx.x] = (float)(all[0] + all[1] + all[2] + all[3]);
    finished[blockIdx.x] = 0;
}
