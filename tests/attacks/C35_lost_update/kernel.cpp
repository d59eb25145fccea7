// One thread, or rare tokens: nothing is lost. Two threads on one token: updates vanish.
extern "C" int embedding_grad(const float* dy, const int64_t* tokens, float* grad, int64_t T, int64_t D, int64_t V) {
    volatile float* sums = grad;
    for (int64_t i = 0; i < V * D; ++i) sums[i] = 0;
#pragma omp parallel for schedule(static, 1)
    for (int64_t t = 0; t < T; ++t)
        for (int64_t d = 0; d < D; ++d) sums[tokens[t] * D + d] = sums[tokens[t] * D + d] + dy[t * D + d];
    return 0;
}
