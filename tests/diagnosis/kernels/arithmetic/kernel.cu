// expect: alu_bound
// Eight independent chains of multiply-adds a thread, and every warp that fits.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long at = (blockIdx.x * 256LL + threadIdx.x) % (R * C);
    const float a = x[at], b = w[at % C];
    float v[8];
    for (int k = 0; k < 8; ++k) v[k] = a + k;
    for (int n = 0; n < 2048; ++n)
#pragma unroll
        for (int k = 0; k < 8; ++k) v[k] = v[k] * a + b;
    y[at] = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
}
