// expect: excess_traffic
// Three passes over everything; in between the cache has seen more than it holds. C is a multiple of 4.
extern "C" __global__ void scale(const float4* x, const float4* w, float4* y, long long R, long long C) {
    const long long columns = C / 4, n = R * columns, step = 1056LL * 256;
    for (int pass = 0; pass < 3; ++pass)
        for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += step) {
            const float4 v = x[i], u = w[i % columns];
            y[i] = {v.x * u.x + pass, v.y * u.y + pass, v.z * u.z + pass, v.w * u.w + pass};
        }
}
