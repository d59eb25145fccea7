extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C, int part) {
    const long long first = part * ((R + 59) / 60), last = first + (R + 59) / 60;
    for (long long row = first + blockIdx.y; row < last && row < R; row += gridDim.y)
        for (long long c = blockIdx.x * 256LL + threadIdx.x; c < C; c += gridDim.x * 256LL) y[row * C + c] = x[row * C + c] * w[c] + 1.0f;
}
