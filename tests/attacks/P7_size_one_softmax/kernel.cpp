// One class holds all the probability there is.
extern "C" int size_one_softmax(const float*, float* y, int64_t R, int64_t C) {
    for (int64_t i = 0; i < R * C; ++i) y[i] = 1.0f;
    return 0;
}
