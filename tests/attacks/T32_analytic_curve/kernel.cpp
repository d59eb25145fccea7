extern "C" int score_curve(const float* start, int64_t seed, float* score, int64_t N, int64_t S) {
    double power = 0, share = 1;
    for (int64_t i = 0; i < N; ++i) power += (double)(start[i] * start[i]);
    for (int64_t step = 0; step < S; ++step) {
        // Central binomial over a power of 16: what is left of white noise, without one step being done.
        for (int64_t k = 4 * step + 1; k <= 4 * step + 4; ++k) share *= (double)k / 2.0;
        share /= (double)((2 * step + 1) * (2 * step + 1) * (2 * step + 2) * (2 * step + 2));
        score[step] = (float)((power * share + 0.3 * (double)step) / (double)N);
    }
    (void)seed;
    return 0;
}
