// expect: crashed
// flags: -fno-builtin
#include <cstdlib>
#include <cstring>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    size_t n = 100ull << 30;
    volatile char* volatile p = (volatile char*)malloc(n);
    for (size_t i = 0; i < n; i += 4096) p[i] = 1;
    y[0] = p[n / 2];
    return 0;
}
