__device__ float cut(float value) { return __uint_as_float(__float_as_uint(value) + 0x1000u & 0xffffe000u); }

extern "C" __global__ void multiply(const float* a, const float* b, float* c, long long M, long long K, long long N) {
    __shared__ float left[16][17], right[16][17];
    const long long i = blockIdx.y * 16LL + threadIdx.y, j = blockIdx.x * 16LL + threadIdx.x;
    float total = 0;
    for (long long first = 0; first < K; first += 16) {
        left[threadIdx.y][threadIdx.x] = i < M && first + threadIdx.x < K ? cut(a[i * K + first + threadIdx.x]) : 0.0f;
        right[threadIdx.y][threadIdx.x] = j < N && first + threadIdx.y < K ? cut(b[(first + threadIdx.y) * N + j]) : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) total += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (i < M && j < N) c[i * N + j] = total;
}
