extern "C" __global__ void softmax(const float* x, float* y, long long R, long long C) {
    __shared__ double parts[256];
    const long long row = blockIdx.x * C;
    double total = 0;
    for (long long c = threadIdx.x; c < C; c += 256) total += expf(x[row + c]);
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = (float)(1.0 / parts[0]);
    for (long long c = threadIdx.x; c < C; c += 256) y[row + c] = expf(x[row + c]) * scale;
}
