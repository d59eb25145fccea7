// expect: spills
// An array that is indexed by what is read: it cannot live in registers.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    float v[64];
    const long long at = (blockIdx.x * 256LL + threadIdx.x) % (R * C);
    for (int k = 0; k < 64; ++k) v[k] = x[at] + k;
    int which = (int)x[at] & 63;
    for (int k = 0; k < 512; ++k) {
        v[which] += 1.0f;
        which = (which * 5 + (int)v[(which + k) & 63]) & 63;
    }
    y[at] = v[which] * w[at % C];
}
