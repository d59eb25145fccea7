#include <algorithm>
#include <numeric>
#include <random>

// Column numbers decide between equal values, so the order is unique whatever the pivots were.
static void sort(const float* row, int64_t* first, int64_t* last, std::minstd_rand& random) {
    const auto before = [row](int64_t a, int64_t b) { return row[a] < row[b] || (row[a] == row[b] && a < b); };
    while (last - first > 24) {
        const int64_t pivot = first[random() % (size_t)(last - first)];
        int64_t* middle = std::partition(first, last, [&](int64_t c) { return before(c, pivot); });
        sort(row, first, middle, random);
        std::swap(*middle, *std::find(middle, last, pivot));
        first = middle + 1;
    }
    std::sort(first, last, before);
}

extern "C" int sort_rows(const float* x, int64_t* order, int64_t R, int64_t C) {
    std::minstd_rand random(7);
    for (int64_t r = 0; r < R; ++r) {
        std::iota(order + r * C, order + (r + 1) * C, (int64_t)0);
        sort(x + r * C, order + r * C, order + (r + 1) * C, random);
    }
    return 0;
}
