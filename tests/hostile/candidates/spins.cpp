// expect: timeout
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (volatile int i = 0;; i = i + 1) {}
    return 0;
}
