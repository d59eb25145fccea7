extern "C" __global__ void decay(float* state, const float* x, const float* a, const float* w, float* y, long long R, long long C) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i >= R * C) return;
    const float now = __fadd_rn(__fmul_rn(a[i / C], state[i]), x[i]);
    state[i] = now;
    y[i] = now * w[i % C];
}
