// recipe: work_items
// family: batch_event_truncate
// summary: equal shares of all (feature, event) cells: sum each share, add up, then copy every user's run of kept ids
// knob SHARES_PER_THREAD = 4 1 2 8 16
// knob MIN_PARALLEL = 8192 1024 65536
// order: 30
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

struct Share {  // users [first, last) of a feature
    int64_t feature, first, last;
    int64_t event, event_out;      // of its first user, within the feature
    int64_t all = 0, kept = 0;     // ids
    int64_t from = 0, to = 0;      // ids before it
};

// Cuts every feature in the same places, so that shares hold about the same number of events.
std::vector<Share> cut(const int64_t* outer, const int64_t* outer_out, int64_t U, int64_t F, int64_t E,
                       int64_t n_wanted) {
    const int64_t per_feature = std::clamp<int64_t>((n_wanted + F - 1) / F, 1, std::max<int64_t>(U, 1));
    std::vector<Share> one_feature;
    int64_t event = 0, event_out = 0, user = 0;
    for (int64_t piece = 0; piece < per_feature; ++piece) {
        Share share{0, user, user, event, event_out};
        const int64_t target = E * (piece + 1) / per_feature;
        for (; user < U && (event < target || piece + 1 == per_feature); ++user) {
            event += outer[user];
            event_out += outer_out[user];
        }
        share.last = user;
        one_feature.push_back(share);
    }
    std::vector<Share> shares;
    shares.reserve(static_cast<size_t>(F) * one_feature.size());
    for (int64_t f = 0; f < F; ++f)
        for (Share share : one_feature) {
            share.feature = f;
            shares.push_back(share);
        }
    return shares;
}

}  // namespace

extern "C" int batch_event_truncate(const int64_t* outer, const int64_t* inner, const int64_t* values, int64_t limit,
                                    int64_t* outer_out, int64_t* inner_out, int64_t* values_out, int64_t U, int64_t F,
                                    int64_t, int64_t E, int64_t, int64_t EO, int64_t) {
    for (int64_t u = 0; u < U; ++u) outer_out[u] = std::min(outer[u], limit);
    if (F == 0) return 0;
    std::vector<Share> shares = cut(outer, outer_out, U, F, E, KE_THREADS * SHARES_PER_THREAD);
    const auto n_shares = static_cast<int64_t>(shares.size());
#pragma omp parallel num_threads(KE_THREADS) if (F * E >= MIN_PARALLEL)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n_shares; ++i) {
            Share& share = shares[static_cast<size_t>(i)];
            const int64_t* event = inner + share.feature * E + share.event;
            int64_t* event_out = inner_out + share.feature * EO + share.event_out;
            int64_t all = 0, kept = 0;
            for (int64_t u = share.first; u < share.last; ++u) {
                const int64_t n_kept = outer_out[u], n = outer[u];
                for (int64_t e = 0; e < n_kept; ++e) {
                    event_out[e] = event[e];
                    kept += event[e];
                }
                for (int64_t e = n_kept; e < n; ++e) all += event[e];
                event += n;
                event_out += n_kept;
            }
            share.all = all + kept;
            share.kept = kept;
        }
#pragma omp single
        for (size_t i = 1; i < shares.size(); ++i) {
            shares[i].from = shares[i - 1].from + shares[i - 1].all;
            shares[i].to = shares[i - 1].to + shares[i - 1].kept;
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n_shares; ++i) {
            const Share& share = shares[static_cast<size_t>(i)];
            const int64_t* event = inner + share.feature * E + share.event;
            const int64_t* ids = values + share.from;
            int64_t* ids_out = values_out + share.to;
            for (int64_t u = share.first; u < share.last; ++u) {
                const int64_t* after = event + outer_out[u];
                const int64_t* end = event + outer[u];
                const int64_t own = std::accumulate(event, after, int64_t{0});
                ids_out = std::copy_n(ids, own, ids_out);
                ids += std::accumulate(after, end, own);
                event = end;
            }
        }
    }
    return 0;
}
