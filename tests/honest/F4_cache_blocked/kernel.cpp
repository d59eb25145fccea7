// One block of columns at a time: V rows of 16 columns stay in the cache, whole rows of grad would not.
extern "C" int embedding_grad(const float* dy, const int64_t* tokens, float* grad, int64_t T, int64_t D, int64_t V) {
    memset(grad, 0, (size_t)(V * D) * sizeof(float));
    for (int64_t first = 0; first < D; first += 16) {
        const int64_t last = first + 16 < D ? first + 16 : D;
        for (int64_t t = 0; t < T; ++t) {
            float* row = grad + tokens[t] * D;
            for (int64_t d = first; d < last; ++d) row[d] += dy[t * D + d];
        }
    }
    return 0;
}
