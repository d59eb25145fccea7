#include <vector>

extern "C" int embedding_grad(const float* dy, const int64_t* tokens, float* grad, int64_t T, int64_t D, int64_t V) {
    std::vector<double> sums((size_t)(V * D));
    for (int64_t t = 0; t < T; ++t)
        for (int64_t d = 0; d < D; ++d) sums[(size_t)(tokens[t] * D + d)] += dy[t * D + d];
    for (int64_t i = 0; i < V * D; ++i) grad[i] = (float)sums[(size_t)i];
    return 0;
}
