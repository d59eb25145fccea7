// expect: uncoalesced
// Threads of a warp on 32 rows: of each sector that is fetched, 4 bytes of 32 are used at a time.
extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long row = blockIdx.x * 256LL + threadIdx.x, first = blockIdx.y * 64LL;
    if (row >= R) return;
    for (long long c = first; c < first + 64 && c < C; ++c) y[row * C + c] = x[row * C + c] * w[c] + 1;
}
