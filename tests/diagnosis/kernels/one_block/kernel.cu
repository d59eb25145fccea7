// expect: small_grid
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    for (long long i = threadIdx.x; i < R * C; i += 1024) y[i] = x[i] * w[i % C] + 1;
}
