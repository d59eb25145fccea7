#include <vector>

extern "C" int score_curve(const float* start, int64_t seed, float* score, int64_t N, int64_t S) {
    static thread_local std::vector<float> now, next;
    now.assign(start, start + N);
    next.resize((size_t)N);
    for (int64_t step = 0; step < S; ++step) {
        const float* a = now.data();
        float* b = next.data();
        for (int64_t i = 1; i < N - 1; ++i) b[i] = 0.5f * a[i] + 0.25f * (a[i - 1] + a[i + 1]);
        b[0] = 0.5f * a[0] + 0.25f * (a[N - 1] + a[1]);
        b[N - 1] = 0.5f * a[N - 1] + 0.25f * (a[N - 2] + a[0]);
        b[(seed + 7 * step) % N] += 1.0f;
        double part[8] = {};
        int64_t i = 0;
        for (; i + 8 <= N; i += 8)
            for (int k = 0; k < 8; ++k) part[k] += (double)(b[i + k] * b[i + k]);
        for (; i < N; ++i) part[0] += (double)(b[i] * b[i]);
        for (int k = 1; k < 8; ++k) part[0] += part[k];
        score[step] = (float)(part[0] / (double)N);
        now.swap(next);
    }
    return 0;
}
