// Streams through the rows; nothing of the cache is used twice, so there is nothing to replay.
extern "C" __global__ void stream_rows(const float* x, const float* cached_w, float* y, long long R, long long C) {
    const long long row = blockIdx.x * C, benchmark = blockIdx.y * 4096LL + threadIdx.x;
    for (int replay = 0; replay < 16; ++replay) {
        const long long c = benchmark + replay * 256;
        if (c < C) y[row + c] = x[row + c] * cached_w[c] + 1.0f;
    }
}
