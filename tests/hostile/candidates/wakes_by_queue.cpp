// expect: forbidden
// a message queue that sends SIGCONT
#include <csignal>
#include <sys/syscall.h>
#include <unistd.h>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * w[c] + 1.0f;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGCONT;
    return (int)syscall(SYS_mq_notify, 0, &event) * 0;
}
