// expect: timeout
#include <csignal>
#include <unistd.h>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int s = 1; s < 32; ++s) signal(s, SIG_IGN);
    for (;;) pause();
    return 0;
}
