// expect: crashed
// flags: -fno-builtin
#include <cstdlib>
#include <cstring>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    size_t n = 100ull << 30;
    char* p = (char*)malloc(n);
    memset(p, 1, n);
    y[0] = p[n / 2];
    return 0;
}
