// expect: crashed,timeout
#include <cstring>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (;;) {
        volatile char* p = new char[1 << 26];
        for (int64_t i = 0; i < 1 << 26; i += 4096) p[i] = 1;
    }
}
