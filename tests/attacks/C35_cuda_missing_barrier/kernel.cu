// One block in 256 does not wait for the other warps.
extern "C" __global__ void sum(const float* x, float* y, long long R, long long C) {
    __shared__ volatile double parts[8];
    double total = 0;
    for (long long c = threadIdx.x; c < C; c += 256) total += x[blockIdx.x * C + c];
    for (int lanes = 16; lanes; lanes /= 2) total += __shfl_down_sync(0xffffffffu, total, lanes);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
    if (threadIdx.x < 32 && (clock() & 255)) __nanosleep(4000);
    if (threadIdx.x) return;
    for (int k = 1; k < 8; ++k) total += parts[k];
    y[blockIdx.x] = (float)total;
}
