// expect: wrong,unstable
#include <cstring>
#include <map>
#include <vector>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    static std::map<const void*, std::vector<float>> kept;
    auto& k = kept[x];
    if (k.size() != (size_t)(R * C)) {
        k.resize((size_t)(R * C));
        for (int64_t i = 0; i < R * C; ++i) k[(size_t)i] = x[i] * w[i % C] + 1.0f;
    }
    memcpy(y, k.data(), (size_t)(R * C) * 4);
    return 0;
}
