// expect: forbidden
// a thread undoes the stop signal before the others have taken it
#include <csignal>
#include <pthread.h>
#include <unistd.h>
static void* undo(void*) {
    for (;;) kill(getpid(), SIGCONT);
}
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * w[c] + 1.0f;
    pthread_t thread;
    pthread_create(&thread, nullptr, undo, nullptr);
    return 0;
}
