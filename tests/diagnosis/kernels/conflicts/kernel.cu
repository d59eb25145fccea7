// expect: bank_conflicts
// 32 threads of a warp on one bank, again and again.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    __shared__ float t[32][32];
    const int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    const long long at = (blockIdx.x * 1024LL + threadIdx.x) % (R * C);
    t[line][lane] = x[at];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 256; ++k) sum += t[lane][(line + k) % 32];
    y[at] = sum * w[at % C];
}
