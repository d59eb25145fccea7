// expect: at_roofline dram_bound
// y = x * w + 1 as memory allows: 16 bytes a thread, neighbours side by side. C is a multiple of 4.
extern "C" __global__ void scale(const float4* x, const float4* w, float4* y, long long R, long long C) {
    const long long columns = C / 4, c = blockIdx.y * 256LL + threadIdx.x;
    if (c >= columns) return;
    const float4 v = x[blockIdx.x * columns + c], u = w[c];
    y[blockIdx.x * columns + c] = {v.x * u.x + 1, v.y * u.y + 1, v.z * u.z + 1, v.w * u.w + 1};
}
