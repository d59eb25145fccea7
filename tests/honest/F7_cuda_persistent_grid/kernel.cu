extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    for (long long i = blockIdx.x * 512LL + threadIdx.x; i < R * C; i += gridDim.x * 512LL) y[i] = x[i] * w[i % C] + 1.0f;
}
