static inline void prefetch(const void* address) {
#if defined(__x86_64__)
    asm volatile("prefetcht0 %0" : : "m"(*(const char*)address));
#else
    __builtin_prefetch(address);
#endif
}

extern "C" int embedding_grad(const float* dy, const int64_t* tokens, float* grad, int64_t T, int64_t D, int64_t V) {
    memset(grad, 0, (size_t)(V * D) * sizeof(float));
    for (int64_t t = 0; t < T; ++t) {
        if (t + 4 < T) prefetch(grad + tokens[t + 4] * D);
        for (int64_t d = 0; d < D; ++d) grad[tokens[t] * D + d] += dy[t * D + d];
    }
    return 0;
}
