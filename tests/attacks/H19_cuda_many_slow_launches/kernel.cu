extern "C" __global__ void rest() {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        __nanosleep(100000);
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < 100000000);
}

extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long row = blockIdx.x * C, first = blockIdx.y * 4096LL + threadIdx.x;
    for (int k = 0; k < 16; ++k) {
        const long long c = first + k * 256;
        if (c < C) y[row + c] = x[row + c] * w[c] + 1.0f;
    }
}
