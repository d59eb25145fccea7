// expect: exited_early,unwritten
#include <unistd.h>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int fd = 3; fd < 32; ++fd) { ssize_t n = write(fd, "D 1 0\n", 6); (void)n; }
    pause();
    return 0;
}
