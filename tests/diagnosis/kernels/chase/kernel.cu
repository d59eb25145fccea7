// expect: memory_latency
// Where to read next is known only when the last read has come back.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long n = R * C;
    long long at = (blockIdx.x * 128LL + threadIdx.x) * 7919 % n;  // n is larger than each step
    float sum = 0;
    for (int k = 0; k < 512; ++k) {
        const float v = x[at];
        sum += v;
        at += 1000003 + (v > 1e30f);
        if (at >= n) at -= n;
    }
    y[blockIdx.x * 128LL + threadIdx.x] = sum * w[0];
}
