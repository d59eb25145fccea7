extern "C" __global__ void __cluster_dims__(2, 1, 1) sum(const float* x, float* y, long long R, long long C) {
    __shared__ double parts[256];
    const long long row = blockIdx.x / 2;
    const unsigned rank = blockIdx.x % 2;
    double total = 0;
    for (long long c = rank * 256 + threadIdx.x; c < C; c += 512) total += x[row * C + c];
    parts[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (rank == 0 && threadIdx.x == 0) {
        unsigned there;
        double other;
        asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(parts)));
        asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(other) : "r"(there) : "memory");
        y[row] = (float)(parts[0] + other);
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
