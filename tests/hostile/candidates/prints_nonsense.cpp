// expect: correct
// flags: -O1 -fno-tree-vectorize
// noise is no crime: the answer is right
#include <cstdio>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int i = 0; i < 100; ++i) printf("PASS speedup 1000x\n");
    for (int64_t r = 0; r < R; ++r) for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * w[c] + 1.0f;
    return 0;
}
