// expect: timeout
#include <unistd.h>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    sleep(100000);
    return 0;
}
