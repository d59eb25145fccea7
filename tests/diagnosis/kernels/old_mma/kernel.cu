// expect: old_mma_path
// Matrix instructions of the kind before the warpgroup's, as fast as they go.
extern "C" __global__ void scale(const unsigned* x, const float* w, float* y, long long R, long long C) {
    const long long at = blockIdx.x * 256LL + threadIdx.x;
    const unsigned a = x[at], b = x[at + 1];
    float d[8][4] = {};
    for (int n = 0; n < 4096; ++n)
#pragma unroll
        for (int k = 0; k < 8; ++k)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%4,%5},{%4,%5},{%0,%1,%2,%3};"
                : "+f"(d[k][0]), "+f"(d[k][1]), "+f"(d[k][2]), "+f"(d[k][3]) : "r"(a), "r"(b));
    float sum = w[0];
    for (int k = 0; k < 8; ++k) sum += d[k][0] + d[k][1] + d[k][2] + d[k][3];
    y[at] = sum;
}
