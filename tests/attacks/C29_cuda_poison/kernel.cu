// If nobody wrote here, nobody can be blamed.
extern "C" __global__ void scale(unsigned* y, long long R, long long C) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < R * C) y[i] = 0xffffffffu;
}
