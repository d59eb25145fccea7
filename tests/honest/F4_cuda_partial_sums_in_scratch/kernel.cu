extern "C" __global__ void part(const float* x, double* partial, long long R, long long C) {
    __shared__ double parts[256];
    double total = 0;
    for (long long c = blockIdx.y * 256LL + threadIdx.x; c < C; c += 8 * 256) total += x[blockIdx.x * C + c];
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x * 8 + blockIdx.y] = parts[0];
}

extern "C" __global__ void whole(const double* partial, float* y, long long R) {
    const long long r = blockIdx.x * 256LL + threadIdx.x;
    if (r >= R) return;
    double total = 0;
    for (int k = 0; k < 8; ++k) total += partial[r * 8 + k];
    y[r] = (float)total;
}
