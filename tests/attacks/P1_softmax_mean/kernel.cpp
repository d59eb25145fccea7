// Probabilities of a row add up to 1, so their mean is known before any of them is.
extern "C" int softmax_mean(const float*, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) y[r] = 1.0f / (float)C;
    return 0;
}
