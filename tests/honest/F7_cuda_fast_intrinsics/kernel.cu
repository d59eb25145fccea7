extern "C" __global__ void softmax(const float* x, float* y, long long R, long long C) {
    __shared__ float largest[256], parts[256];
    const long long row = blockIdx.x * C;
    float most = x[row], total = 0, lost = 0;
    for (long long c = threadIdx.x; c < C; c += 256) most = fmaxf(most, x[row + c]);
    largest[threadIdx.x] = most;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) largest[threadIdx.x] = fmaxf(largest[threadIdx.x], largest[threadIdx.x + half]);
        __syncthreads();
    }
    most = largest[0];
    for (long long c = threadIdx.x; c < C; c += 256) {  // with what the last addition lost
        const float term = __expf(x[row + c] - most) - lost, sum = __fadd_rn(total, term);
        lost = __fsub_rn(__fsub_rn(sum, total), term);
        total = sum;
    }
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = __fdividef(1.0f, parts[0]);
    for (long long c = threadIdx.x; c < C; c += 256) y[row + c] = __expf(x[row + c] - most) * scale;
}
