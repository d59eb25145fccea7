// expect: divergence
// Every thread of a warp takes a branch of its own length.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long at = (blockIdx.x * 256LL + threadIdx.x) % (R * C);
    float v = x[at];
    const float b = w[at % C];
    const int turns = (threadIdx.x % 32) * 64;
    for (int n = 0; n < turns; ++n) v = v * 0.5f + b;
    y[at] = v;
}
