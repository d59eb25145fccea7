// expect: crashed
// flags: -fno-optimize-sibling-calls
__attribute__((noinline)) float deep(volatile float* y, int64_t n) { volatile float pad[512]; pad[n % 512] = y[0]; return n ? pad[n % 512] + deep(y, n - 1) : 0; }
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    volatile float sink = deep(y, R + 1000000000);
    (void)sink;
    return 0;
}
