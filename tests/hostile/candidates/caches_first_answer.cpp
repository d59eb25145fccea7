// expect: wrong
#include <cstring>
#include <vector>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    static std::vector<float> kept;
    if (kept.size() < (size_t)(R * C)) {
        kept.resize((size_t)(R * C));
        for (int64_t i = 0; i < R * C; ++i) kept[(size_t)i] = x[i] * w[i % C] + 1.0f;
    }
    memcpy(y, kept.data(), (size_t)(R * C) * 4);
    return 0;
}
