// exp(t) = 2^n * p(r) with r in +-ln(2)/2; the table is 1/k!.
__constant__ float coefficients[8] = {1.0f, 1.0f, 0.5f, 1.66666667e-1f, 4.16666667e-2f, 8.33333333e-3f, 1.38888889e-3f, 1.98412698e-4f};

__device__ float power(float t) {
    t = fmaxf(t, -87.0f);
    const float n = rintf(t * 1.44269504f), r = fmaf(n, -1.42860677e-6f, fmaf(n, -0.693145752f, t));
    float value = coefficients[7];
    for (int k = 6; k >= 0; --k) value = fmaf(value, r, coefficients[k]);
    return value * __int_as_float(((int)n + 127) << 23);
}

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
    for (long long c = threadIdx.x; c < C; c += 256) total += power(x[row + c] - most);
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = (float)(1.0 / parts[0]);
    for (long long c = threadIdx.x; c < C; c += 256) y[row + c] = power(x[row + c] - most) * scale;
}
