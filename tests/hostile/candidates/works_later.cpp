// expect: unwritten,wrong
// returns at once, a thread writes the answer afterwards
#include <thread>
#include <unistd.h>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    std::thread([=] { usleep(20000); for (int64_t r = 0; r < R; ++r) for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * w[c] + 1.0f; }).detach();
    return 0;
}
