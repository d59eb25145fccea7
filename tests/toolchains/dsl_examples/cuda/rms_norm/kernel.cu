// Root-mean-square normalisation with a weight, one block per row. bf16 in and out, sums in float.
typedef unsigned short bf16;

__device__ float wide(bf16 bits) { return __uint_as_float((unsigned)bits << 16); }
__device__ bf16 narrow(float value) {
    bf16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

extern "C" __global__ void __launch_bounds__(256)
normalise(const bf16* __restrict__ x, const bf16* __restrict__ weight, bf16* __restrict__ out, long long R, int C) {
    __shared__ float partial[8];
    const long long row = blockIdx.x;
    if (row >= R) return;
    float squares = 0.0f;
    for (int c = threadIdx.x; c < C; c += 256) squares = fmaf(wide(x[row * C + c]), wide(x[row * C + c]), squares);
    for (int step = 16; step > 0; step /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, step);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0.0f;
    for (int warp = 0; warp < 8; ++warp) squares += partial[warp];
    const float scale = rsqrtf(squares / C + 1e-6f);
    for (int c = threadIdx.x; c < C; c += 256) out[row * C + c] = narrow(wide(x[row * C + c]) * scale * wide(weight[c]));
}
