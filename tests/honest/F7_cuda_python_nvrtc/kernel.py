import torch
import torch.utils.cpp_extension as extension

extension.CUDA_HOME = extension.CUDA_HOME or "/usr/local/cuda"  # headers are looked for there; none is needed
SOURCE = """
extern "C" __global__ void scale(const float* x, const float* w, float* y, int n_columns) {
    const long long row = (long long)blockIdx.x * n_columns;
    for (int c = blockIdx.y * blockDim.x + threadIdx.x; c < n_columns; c += gridDim.y * blockDim.x)
        y[row + c] = x[row + c] * w[c] + 1.0f;
}
"""
scale = torch.cuda._compile_kernel(SOURCE, "scale")


def row_scale(x, w, y, R, C):
    if R * C:
        scale(grid=(R, min(4, (C + 255) // 256), 1), block=(256, 1, 1), args=[x, w, y, C])
