// expect: uneven_cores
// 16 of 528 blocks have a hundred times the work of the others.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long rows = (R + 1023) / 1024, turns = blockIdx.x < 16 ? 4000 : 40;
    float kept = 0;
    for (long long t = 0; t < turns; ++t)
        for (long long r = 0; r < rows; ++r) kept += x[((blockIdx.x * rows + r) % R) * C + threadIdx.x] * w[t % C];
    y[(blockIdx.x % R) * C + threadIdx.x] = kept;
}
