extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < R * C) y[i] = x[i] * w[i % C] + 1.0f;
}
