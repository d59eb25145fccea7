extern "C" __global__ void decay(float* state, const float* x, const float* a, const float* w, float* y, long long R,
                                 long long C, long long SP, long long XP) {
    const long long i = blockIdx.x * 256LL + threadIdx.x, r = i / C, c = i % C;
    if (r >= R) return;
    const float next = a[r] * state[i] + x[i];
    state[i] = next;
    y[i] = next * w[c];
}
