extern "C" int embedding_grad(const float* dy, const int64_t* tokens, float* grad, int64_t T, int64_t D, int64_t V) {
    memset(grad, 0, (size_t)(V * D) * sizeof(float));
#pragma omp parallel for
    for (int64_t t = 0; t < T; ++t) {
        float* row = grad + tokens[t] * D;
        for (int64_t d = 0; d < D; ++d) {
#pragma omp atomic
            row[d] += dy[t * D + d];
        }
    }
    return 0;
}
