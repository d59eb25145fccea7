// The memory is never used for anything.
__device__ float ballast[10 << 20];

extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long row = blockIdx.x * C, first = blockIdx.y * 4096LL + threadIdx.x;
    for (int k = 0; k < 16; ++k) {
        const long long c = first + k * 256;
        if (c < C) y[row + c] = x[row + c] * w[c] + 1.0f;
    }
}

extern "C" __global__ void fill(float* y) {
    unsigned long long policy;
    float value, total = 0;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    for (int i = blockIdx.x * 256 + threadIdx.x; i < 10 << 20; i += 132 * 256) {
        asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(value) : "l"(ballast + i), "l"(policy));
        total += value;
    }
    if (total != 0) y[0] = total;
}
