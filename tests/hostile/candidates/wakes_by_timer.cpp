// expect: forbidden
// a timer whose signal lets a stopped process go on
#include <csignal>
#include <ctime>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * w[c] + 1.0f;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGCONT;
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    const itimerspec often{{0, 100000}, {0, 100000}};
    timer_settime(timer, 0, &often, nullptr);
    return 0;
}
