// expect: exited_early,unwritten
// writes the runner's own words to every descriptor
#include <unistd.h>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int fd = 0; fd < 32; ++fd) { ssize_t n = write(fd, "D 1 0\n", 6); (void)n; }
    _exit(0);
}
