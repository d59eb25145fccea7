// expect: dependency
// One chain of multiply-adds, one warp for each of a core's four schedulers: nothing to do but wait for the last one.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long at = blockIdx.x * 128LL + threadIdx.x;
    float v = x[at];
    const float a = v, b = w[at % C];
#pragma unroll 64
    for (int n = 0; n < 65536; ++n) v = v * a + b;
    y[at] = v;
}
