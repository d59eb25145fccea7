// expect: crashed
#include <thread>
#include <unistd.h>
#include <vector>
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    std::vector<std::thread> all;
    for (int i = 0; i < 100000; ++i) all.emplace_back([] { for (;;) pause(); });
    return 0;
}
