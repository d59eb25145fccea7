#define UNROLL 4
#define BLOCK 256
#define STREAM 0
// A thread changes UNROLL times 16 bytes of one slot, all of them asked for before the first is used.
#if STREAM
#define LOAD(at) __ldcs(at)
#define STORE(at, v) __stcs(at, v)
#else
#define LOAD(at) (*(at))
#define STORE(at, v) (*(at) = (v))
#endif

extern "C" __global__ void __launch_bounds__(BLOCK)
negate(float4* x, const int* __restrict__ indices, long long B, long long N) {
    if (blockIdx.y >= B) return;
    float4* slot = x + (long long)__ldg(indices + blockIdx.y) * (N / 4);
    const long long first = (long long)blockIdx.x * (BLOCK * UNROLL) + threadIdx.x;
    float4 v[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (first + k * BLOCK < N / 4) v[k] = LOAD(slot + first + k * BLOCK);
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (first + k * BLOCK < N / 4) STORE(slot + first + k * BLOCK, make_float4(-v[k].x, -v[k].y, -v[k].z, -v[k].w));
}
