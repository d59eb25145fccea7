// expect: forbidden
// a pipe that has become readable sends SIGCONT
#include <csignal>
#include <fcntl.h>
#include <unistd.h>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * w[c] + 1.0f;
    for (int fd = 3; fd < 32; ++fd) {
        fcntl(fd, F_SETOWN, getpid());
        fcntl(fd, F_SETSIG, SIGCONT);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
    }
    return 0;
}
