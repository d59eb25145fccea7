// Half of the bytes, had the tensor come that way.
extern "C" __global__ void sum(const float* x, float* y, long long R, long long C) {
    __shared__ double parts[256];
    double total = 0;
    for (long long c = threadIdx.x; c < C; c += 256) {
        const unsigned bits = __float_as_uint(x[blockIdx.x * C + c]);
        total += __uint_as_float((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
    }
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = (float)parts[0];
}
