#include <algorithm>
#include <numeric>

extern "C" int sort_rows(const float* x, int64_t* order, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        const float* row = x + r * C;
        std::iota(order + r * C, order + (r + 1) * C, (int64_t)0);
        std::stable_sort(order + r * C, order + (r + 1) * C, [row](int64_t a, int64_t b) { return row[a] < row[b]; });
    }
    return 0;
}
