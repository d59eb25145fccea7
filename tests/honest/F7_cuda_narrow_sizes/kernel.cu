extern "C" __global__ void scale(const float* x, const float* w, float* y, int R, int C) {
    const long long row = (long long)blockIdx.x * C;
    for (int c = blockIdx.y * 4096 + threadIdx.x, k = 0; k < 16; ++k, c += 256)
        if (c < C) y[row + c] = x[row + c] * w[c] + 1.0f;
}
