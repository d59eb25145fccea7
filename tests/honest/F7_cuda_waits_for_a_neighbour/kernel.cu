// Only block zero of a row is never waited for by itself: each looks at one with a smaller number, which started before.
extern "C" __global__ void open(unsigned* ready, long long R) {
    const long long r = blockIdx.x * 256LL + threadIdx.x;
    if (r < 4 * R) ready[r] = 0;
}

extern "C" __global__ void sum(const float* x, double* handed, unsigned* ready, float* y, long long R, long long C) {
    __shared__ double parts[256];
    const long long row = blockIdx.x / 4, part = blockIdx.x % 4;
    double total = 0;
    for (long long c = part * 256 + threadIdx.x; c < C; c += 1024) total += x[row * C + c];
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x) return;
    total = parts[0];
    if (part) {
        while (atomicAdd(ready + blockIdx.x - 1, 0u) == 0) __nanosleep(20);
        __threadfence();
        total += *(volatile double*)(handed + blockIdx.x - 1);
    }
    if (part == 3) {
        y[row] = (float)total;
        return;
    }
    handed[blockIdx.x] = total;
    __threadfence();
    atomicExch(ready + blockIdx.x, 1u);
}
