extern "C" __global__ void decay(float* state, const float* x, const float* a, const float* w, float* y, long long R,
                                 long long C, long long SP, long long XP) {
    const long long i = blockIdx.x * 256LL + threadIdx.x, r = i / C, c = i % C;
    if (r >= R) return;
    const float next = __fadd_rn(__fmul_rn(a[r], state[r * SP + c]), x[r * XP + c]);
    state[r * SP + c] = next;
    y[i] = next * w[c];
}
