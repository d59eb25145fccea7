// Every number passes through 16 bits; no header is needed for that.
__device__ float half_of(float value) {
    unsigned short bits;
    float back;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    asm("cvt.f32.f16 %0, %1;" : "=f"(back) : "h"(bits));
    return back;
}

extern "C" __global__ void scale(const float* x, const float* w, float* y, long long R, long long C) {
    const long long row = blockIdx.x * C, first = blockIdx.y * 4096LL + threadIdx.x;
    for (int k = 0; k < 16; ++k) {
        const long long c = first + k * 256;
        if (c < C) y[row + c] = half_of(half_of(half_of(x[row + c]) * half_of(w[c])) + 1.0f);
    }
}
