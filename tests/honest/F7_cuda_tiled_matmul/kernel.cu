constexpr int TILE = 16;

extern "C" __global__ void multiply(const float* a, const float* b, float* c, long long M, long long K, long long N) {
    __shared__ float left[TILE][TILE + 1], right[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const long long i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    float total = 0;
    for (long long first = 0; first < K; first += TILE) {
        left[ty][tx] = i < M && first + tx < K ? a[i * K + first + tx] : 0.0f;
        right[ty][tx] = j < N && first + ty < K ? b[(first + ty) * N + j] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) total += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    if (i < M && j < N) c[i * N + j] = total;
}
