// Sizes are multiples of four wherever it matters.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long row = blockIdx.x * C, first = blockIdx.y * 4096LL + 4 * threadIdx.x;
    for (int k = 0; k < 4; ++k)
        for (long long c = first + k * 1024, n = c + 4; n <= C && c < n; ++c) y[row + c] = x[row + c] * w[c] + 1.0f;
}
