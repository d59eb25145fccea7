extern "C" __global__ void softmax(const float* x, float* y, long long R, long long C) {
    __shared__ float largest[256];
    __shared__ double parts[256];
    const long long row = blockIdx.x * C;
    float most = x[row];
    for (long long c = threadIdx.x; c < C; c += 256) most = fmaxf(most, x[row + c]);
    largest[threadIdx.x] = most;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) largest[threadIdx.x] = fmaxf(largest[threadIdx.x], largest[threadIdx.x + half]);
        __syncthreads();
    }
    most = largest[0];
    double total = 0;
    for (long long c = threadIdx.x; c < C; c += 256) {
        const float term = expf(x[row + c] - most);
        y[row + c] = term;
        total += term;
    }
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = (float)(1.0 / parts[0]);
    for (long long c = threadIdx.x; c < C; c += 256) y[row + c] *= scale;
}
