// expect: forbidden
#include <unistd.h>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    while (fork() >= 0) {}
    return 0;
}
