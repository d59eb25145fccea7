// What does not fit is read again.
extern "C" __global__ void softmax(const float* x, float* y, long long R, long long C) {
    extern __shared__ float held[];
    __shared__ float largest[512];
    __shared__ double parts[512];
    const long long row = blockIdx.x * C;
    float most = x[row];
    for (long long c = threadIdx.x; c < C; c += 512) {
        const float value = x[row + c];
        if (c < 32768) held[c] = value;
        most = fmaxf(most, value);
    }
    largest[threadIdx.x] = most;
    __syncthreads();
    for (int half = 256; half; half /= 2) {
        if (threadIdx.x < half) largest[threadIdx.x] = fmaxf(largest[threadIdx.x], largest[threadIdx.x + half]);
        __syncthreads();
    }
    most = largest[0];
    double total = 0;
    for (long long c = threadIdx.x; c < C; c += 512) total += expf((c < 32768 ? held[c] : x[row + c]) - most);
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 256; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = (float)(1.0 / parts[0]);
    for (long long c = threadIdx.x; c < C; c += 512) y[row + c] = expf((c < 32768 ? held[c] : x[row + c]) - most) * scale;
}
