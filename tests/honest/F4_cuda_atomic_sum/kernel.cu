extern "C" __global__ void clear(double* sums, long long R) {
    const long long r = blockIdx.x * 256LL + threadIdx.x;
    if (r < R) sums[r] = 0;
}

extern "C" __global__ void add(const float* x, double* sums, long long R, long long C) {
    double total = 0;
    const long long first = blockIdx.y * 8192LL;
    for (long long c = first + threadIdx.x; c < C && c < first + 8192; c += 256) total += x[blockIdx.x * C + c];
    for (int lanes = 16; lanes; lanes /= 2) total += __shfl_down_sync(0xffffffffu, total, lanes);
    if (threadIdx.x % 32 == 0) atomicAdd(sums + blockIdx.x, total);
}

extern "C" __global__ void finish(const double* sums, float* y, long long R) {
    const long long r = blockIdx.x * 256LL + threadIdx.x;
    if (r < R) y[r] = (float)sums[r];
}
