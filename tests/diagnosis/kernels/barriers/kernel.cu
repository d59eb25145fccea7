// expect: synchronisation
// One warp works and seven wait for it, again and again.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    __shared__ float told;
    const long long at = (blockIdx.x * 256LL + threadIdx.x) % (R * C);
    float v = x[at];
    if (threadIdx.x == 0) told = w[0];
    __syncthreads();
    for (int n = 0; n < 512; ++n) {
        if (threadIdx.x < 32) {
            for (int k = 0; k < 32; ++k) v = v * 0.5f + told;
            if (threadIdx.x == 0) told = v;
        }
        __syncthreads();
        v += told;
        __syncthreads();
    }
    y[at] = v;
}
