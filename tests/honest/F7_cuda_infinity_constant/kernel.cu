// One pass for the maximum and the sum, rescaled where the maximum moves.
extern "C" __global__ void softmax(const float* x, float* y, long long R, long long C) {
    __shared__ float largest[256];
    __shared__ double parts[256];
    const long long row = blockIdx.x * C;
    const float none = __int_as_float(0xff800000);
    float most = none;
    double total = 0;
    for (long long c = threadIdx.x; c < C; c += 256) {
        const float value = x[row + c];
        if (value > most) total = most == none ? 0 : total * expf(most - value), most = value;
        total += expf(value - most);
    }
    largest[threadIdx.x] = most, parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half && largest[threadIdx.x + half] != none) {
            const float a = largest[threadIdx.x], b = largest[threadIdx.x + half], m = fmaxf(a, b);
            parts[threadIdx.x] = parts[threadIdx.x] * (a == none ? 0.0f : expf(a - m)) + parts[threadIdx.x + half] * expf(b - m);
            largest[threadIdx.x] = m;
        }
        __syncthreads();
    }
    const float scale = (float)(1.0 / parts[0]), top = largest[0];
    for (long long c = threadIdx.x; c < C; c += 256) y[row + c] = expf(x[row + c] - top) * scale;
}
