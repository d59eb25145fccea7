// Rows that do not start on 16 bytes lose up to three elements at either end to plain loads.
constexpr int TILE = 2048;

__device__ unsigned in_shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void ask(float* to, const float* from, unsigned bytes, unsigned long long* barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(in_shared(barrier)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(in_shared(to)), "l"(from), "r"(bytes), "r"(in_shared(barrier)) : "memory");
}

__device__ void wait(unsigned long long* barrier, unsigned parity) {
    asm volatile("{\n .reg .pred done;\n again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n @!done bra again;\n}"
                 :: "r"(in_shared(barrier)), "r"(parity) : "memory");
}

extern "C" __global__ void sum(const float* x, float* y, long long R, long long C) {
    __shared__ alignas(128) float tile[2][TILE];
    __shared__ alignas(8) unsigned long long barrier[2];
    __shared__ double parts[256];
    const float* row = x + blockIdx.x * C;
    const long long skew = (4 - blockIdx.x * C % 4) % 4, lead = skew < C ? skew : C, body = (C - lead) / 4 * 4;
    const long long n_tiles = (body + TILE - 1) / TILE;
    const auto size = [&](long long t) { return (int)(body - t * TILE < TILE ? body - t * TILE : TILE); };
    if (threadIdx.x == 0) {
        for (int k = 0; k < 2; ++k) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(in_shared(barrier + k)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int t = 0; t < 2 && t < n_tiles; ++t) ask(tile[t], row + lead + t * TILE, 4 * size(t), barrier + t);
    }
    __syncthreads();
    double total = 0;
    if (threadIdx.x < lead) total += row[threadIdx.x];
    for (long long c = lead + body + threadIdx.x; c < C; c += 256) total += row[c];
    for (long long t = 0; t < n_tiles; ++t) {
        wait(barrier + t % 2, (unsigned)(t / 2 % 2));
        for (int k = threadIdx.x; k < size(t); k += 256) total += tile[t % 2][k];
        __syncthreads();
        if (threadIdx.x == 0 && t + 2 < n_tiles) ask(tile[t % 2], row + lead + (t + 2) * TILE, 4 * size(t + 2), barrier + t % 2);
    }
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = (float)parts[0];
}
