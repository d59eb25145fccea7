// Measures this machine's ceilings: prints "copy_gb_per_s cached_copy_gb_per_s fma_gflop_per_s nearest_copy_gb_per_s".
// Copy counts bytes read plus bytes written. Best of several repeats: a ceiling is what the machine can do.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double copy_rate(size_t bytes_per_thread, int repeats, int rounds) {
    double best = 0;
    const int n_threads = omp_get_max_threads();
    std::vector<char*> from(n_threads), to(n_threads);
#pragma omp parallel
    {
        const int t = omp_get_thread_num();
        from[t] = (char*)std::aligned_alloc(64, bytes_per_thread);
        to[t] = (char*)std::aligned_alloc(64, bytes_per_thread);
        if (!from[t] || !to[t]) std::exit(1);
        std::memset(from[t], 1, bytes_per_thread);
        std::memset(to[t], 2, bytes_per_thread);
    }
    for (int round = 0; round < rounds; ++round) {
        const double start = seconds();
#pragma omp parallel
        {
            const int t = omp_get_thread_num();
            for (int r = 0; r < repeats; ++r) {
                std::memcpy(to[t], from[t], bytes_per_thread);
                asm volatile("" : : "r"(to[t]) : "memory");
            }
        }
        best = std::max(best, 2.0 * bytes_per_thread * repeats * n_threads / (seconds() - start));
    }
    return best / 1e9;
}

static double fma_rate() {
    double best = 0;
    const int n_threads = omp_get_max_threads();
    constexpr int lanes = 16, chains = 12, steps = 4'000'000;
    typedef float vec __attribute__((vector_size(lanes * 4)));
    float sink = 0;
    for (int round = 0; round < 4; ++round) {
        const double start = seconds();
#pragma omp parallel reduction(+ : sink)
        {
            vec a[chains];
            for (int c = 0; c < chains; ++c) a[c] = vec{} + 0.5f * (c + omp_get_thread_num());
            const vec m = vec{} + 0.999f, b = vec{} + 0.001f;
            for (int s = 0; s < steps; ++s)
                for (int c = 0; c < chains; ++c) a[c] = a[c] * m + b;
            for (int c = 0; c < chains; ++c) sink += a[c][0];
        }
        best = std::max(best, 2.0 * lanes * chains * (double)steps * n_threads / (seconds() - start));
    }
    if (sink == 12345.678f) std::puts("");
    return best / 1e9;
}

int main() {
    // 512 MiB in all, however many threads: beyond any last-level cache, and small enough for a limited machine.
    const size_t per_thread = std::max<size_t>((512u << 20) / omp_get_max_threads(), 16u << 20);
    const double beyond_cache = copy_rate(per_thread / 64 * 64, 1, 6);
    const double cached = copy_rate(4u << 20, 100, 4);  // beyond L2, within a shared last-level cache
    const double nearest = copy_rate(8u << 10, 40'000, 4);  // both buffers within the first-level cache
    std::printf("%.2f %.2f %.1f %.2f\n", beyond_cache, cached, fma_rate(), nearest);
    return 0;
}
