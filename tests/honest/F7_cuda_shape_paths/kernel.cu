extern "C" __global__ void by_warp(const float* x, float* y, long long R, long long C) {
    const long long r = blockIdx.x * 8LL + threadIdx.x / 32;
    if (C > 1024 || r >= R) return;
    double total = 0;
    for (long long c = threadIdx.x % 32; c < C; c += 32) total += x[r * C + c];
    for (int lanes = 16; lanes; lanes /= 2) total += __shfl_xor_sync(0xffffffffu, total, lanes);
    if (threadIdx.x % 32 == 0) y[r] = (float)total;
}

extern "C" __global__ void by_block(const float* x, float* y, long long R, long long C) {
    if (C <= 1024) return;
    __shared__ double parts[256];
    double total = 0;
    for (long long c = threadIdx.x; c < C; c += 256) total += x[blockIdx.x * C + c];
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = (float)parts[0];
}
