// Device code has no start-up: a compiler that let this pass would run work before the clock does.
__device__ float worth(int k);

struct Table {
    float values[64];
    __device__ Table() {
        for (int k = 0; k < 64; ++k) values[k] = worth(k);
    }
};

__device__ float worth(int k) { return 1.0f / (k + 1 + clock() % 2); }
__device__ Table table;

extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long row = blockIdx.x * C, first = blockIdx.y * 4096LL + threadIdx.x;
    for (int k = 0; k < 16; ++k) {
        const long long c = first + k * 256;
        if (c < C) y[row + c] = x[row + c] * w[c] + table.values[0];
    }
}
