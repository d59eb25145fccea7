// expect: build_failed
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r { y[r] = 1; }
    return 0;
}
