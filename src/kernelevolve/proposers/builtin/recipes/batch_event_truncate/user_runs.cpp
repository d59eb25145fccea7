// recipe: user_runs
// family: batch_event_truncate
// summary: the kept ids of a user are one run: sum the lengths, copy once; features are shared out after a summing pass
// knob MIN_PARALLEL = 8192 1024 65536
// order: 20
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

extern "C" int batch_event_truncate(const int64_t* outer, const int64_t* inner, const int64_t* values, int64_t limit,
                                    int64_t* outer_out, int64_t* inner_out, int64_t* values_out, int64_t U, int64_t F,
                                    int64_t, int64_t E, int64_t, int64_t EO, int64_t) {
    for (int64_t u = 0; u < U; ++u) outer_out[u] = std::min(outer[u], limit);
    std::vector<int64_t> from(static_cast<size_t>(F) + 1), to(static_cast<size_t>(F) + 1);
#pragma omp parallel num_threads(KE_THREADS) if (F * E >= MIN_PARALLEL)
    {
#pragma omp for schedule(static)
        for (int64_t f = 0; f < F; ++f) {
            const int64_t* event = inner + f * E;
            int64_t all = 0, kept = 0;
            for (int64_t u = 0; u < U; ++u) {
                const int64_t* cut = event + outer_out[u];
                const int64_t* end = event + outer[u];
                const int64_t own = std::accumulate(event, cut, int64_t{0});
                kept += own;
                all += std::accumulate(cut, end, own);
                event = end;
            }
            from[static_cast<size_t>(f) + 1] = all;
            to[static_cast<size_t>(f) + 1] = kept;
        }
#pragma omp single
        for (size_t f = 0; f < static_cast<size_t>(F); ++f) {
            from[f + 1] += from[f];
            to[f + 1] += to[f];
        }
#pragma omp for schedule(static)
        for (int64_t f = 0; f < F; ++f) {
            const int64_t* event = inner + f * E;
            int64_t* event_out = inner_out + f * EO;
            const int64_t* ids = values + from[static_cast<size_t>(f)];
            int64_t* ids_out = values_out + to[static_cast<size_t>(f)];
            for (int64_t u = 0; u < U; ++u) {
                const int64_t* cut = event + outer_out[u];
                const int64_t* end = event + outer[u];
                const int64_t own = std::accumulate(event, cut, int64_t{0});
                event_out = std::copy(event, cut, event_out);
                ids_out = std::copy_n(ids, own, ids_out);
                ids += std::accumulate(cut, end, own);
                event = end;
            }
        }
    }
    return 0;
}
