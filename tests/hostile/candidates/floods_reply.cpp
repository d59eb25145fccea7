// expect: exited_early,unwritten,timeout
#include <cstring>
#include <unistd.h>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    char junk[4096];
    memset(junk, 65, sizeof junk);
    for (;;) for (int fd = 3; fd < 16; ++fd) { ssize_t n = write(fd, junk, sizeof junk); (void)n; }
    return 0;
}
