// Block 2r is usually done before block 2r+1 has slept; nothing makes it so.
extern "C" __global__ void sum(const float* x, float* y, long long R, long long C) {
    __shared__ double parts[256];
    const long long row = blockIdx.x / 2, half = C / 2, first = blockIdx.x % 2 ? half : 0, last = blockIdx.x % 2 ? C : half;
    double total = 0;
    for (long long c = first + threadIdx.x; c < last; c += 256) total += x[row * C + c];
    parts[threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.x) return;
    for (int k = 1; k < 256; ++k) total += parts[k];
    if (blockIdx.x % 2 == 0) y[row] = (float)total;
    if (blockIdx.x % 2 && (clock() & 255)) __nanosleep(20000);
    if (blockIdx.x % 2) y[row] = (float)(*(volatile float*)(y + row) + total);
}
