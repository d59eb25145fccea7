// Equal by every comparison of numbers.
extern "C" __global__ void relu(const float* x, float* y, long long R, long long C) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < R * C) y[i] = x[i] * (x[i] > 0.0f);
}
