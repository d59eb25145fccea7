// recipe: both_ends
// family: batch_event_truncate
// summary: no summing pass: one thread works forwards from the start, one backwards from the end, to the middle
// knob COPY = 0 1
// knob PREFETCH_BYTES = 0 1024 4096
// knob MIN_PARALLEL = 8192 1024 65536
// order: 40
#include <algorithm>
#include <cstdint>
#include <cstring>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

struct Batch {
    const int64_t *outer, *inner, *values;
    int64_t *outer_out, *inner_out, *values_out;
    int64_t U, F, E, T, EO, TO;
};

inline int64_t sum(const int64_t* x, int64_t n) {
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += x[i];
    return total;
}

inline int64_t sum_and_copy(const int64_t* x, int64_t n, int64_t* to) {
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) {
        to[i] = x[i];
        total += x[i];
    }
    return total;
}

inline void copy(const int64_t* from, int64_t n, int64_t* to) {
#if COPY == 0
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(int64_t));
#else
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        to[i] = from[i];
        asm("" ::: "memory");  // or it would be turned into a call of memcpy
    }
#endif
}

// Inlined by force: a call of a function that only prefetches is dropped as having no effect.
[[gnu::always_inline]] inline void prefetch(const int64_t* from, int64_t direction) {
    if (PREFETCH_BYTES > 0) __builtin_prefetch(from + direction * (PREFETCH_BYTES / 8));
}

// A place between two (feature, user) cells: the cell after it, and all that lies before it.
struct Place {
    int64_t feature, user;
};

void forwards(const Batch& batch, Place end) {
    const int64_t *event = batch.inner, *ids = batch.values;
    int64_t *event_out = batch.inner_out, *ids_out = batch.values_out;
    for (int64_t f = 0; f <= end.feature && f < batch.F; ++f) {
        const int64_t n_users = f == end.feature ? end.user : batch.U;
        for (int64_t u = 0; u < n_users; ++u) {
            const int64_t n = batch.outer[u], n_kept = batch.outer_out[u];
            const int64_t own = sum_and_copy(event, n_kept, event_out);
            prefetch(event + n, 1);
            copy(ids, own, ids_out);
            ids += own + sum(event + n_kept, n - n_kept);
            ids_out += own;
            event += n;
            event_out += n_kept;
        }
    }
}

void backwards(const Batch& batch, Place begin) {
    const int64_t *event = batch.inner + batch.F * batch.E, *ids = batch.values + batch.T;
    int64_t *event_out = batch.inner_out + batch.F * batch.EO, *ids_out = batch.values_out + batch.TO;
    for (int64_t f = batch.F - 1; f >= begin.feature; --f) {
        const int64_t first = f == begin.feature ? begin.user : 0;
        for (int64_t u = batch.U - 1; u >= first; --u) {
            const int64_t n = batch.outer[u], n_kept = batch.outer_out[u];
            event -= n;
            event_out -= n_kept;
            prefetch(event, -1);
            const int64_t own = sum_and_copy(event, n_kept, event_out);
            ids -= own + sum(event + n_kept, n - n_kept);
            ids_out -= own;
            copy(ids, own, ids_out);
        }
    }
}

// The place with about half of all events before it.
Place middle(const Batch& batch) {
    if (batch.E == 0) return {batch.F, 0};
    const int64_t half = batch.F * batch.E / 2;
    Place place{half / batch.E, 0};
    for (int64_t events = half % batch.E; place.user < batch.U && events > 0; ++place.user)
        events -= batch.outer[place.user];
    return place;
}

}  // namespace

extern "C" int batch_event_truncate(const int64_t* outer, const int64_t* inner, const int64_t* values, int64_t limit,
                                    int64_t* outer_out, int64_t* inner_out, int64_t* values_out, int64_t U, int64_t F,
                                    int64_t, int64_t E, int64_t T, int64_t EO, int64_t TO) {
    for (int64_t u = 0; u < U; ++u) outer_out[u] = std::min(outer[u], limit);
    const Batch batch{outer, inner, values, outer_out, inner_out, values_out, U, F, E, T, EO, TO};
    if (KE_THREADS == 1 || F * E < MIN_PARALLEL) {
        forwards(batch, {F, 0});
        return 0;
    }
    const Place place = middle(batch);
#pragma omp parallel for schedule(static) num_threads(2)
    for (int half = 0; half < 2; ++half) {
        if (half == 0) forwards(batch, place);
        else backwards(batch, place);
    }
    return 0;
}
