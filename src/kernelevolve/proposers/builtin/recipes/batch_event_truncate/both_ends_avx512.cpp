// recipe: both_ends_avx512
// family: batch_event_truncate
// summary: from both ends to the middle in one pass, with masked 512-bit loads and stores for the short runs of a user
// isa: avx512f
// knob STREAM_OUT = 0 1
// knob PREFETCH_BYTES = 0 1024 4096
// knob MIN_PARALLEL = 8192 1024 65536
// order: 50
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

struct Batch {
    const int64_t *outer, *inner, *values;
    int64_t *outer_out, *inner_out, *values_out;
    int64_t U, F, E, T, EO, TO;
};

inline __mmask8 lanes(int64_t n) { return static_cast<__mmask8>((1u << n) - 1); }

// Two accumulators: the sum of a user's few hundred lengths would otherwise wait for its own additions.
inline int64_t sum(const int64_t* x, int64_t n) {
    __m512i a = _mm512_setzero_si512(), b = a;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        a = _mm512_add_epi64(a, _mm512_loadu_si512(x + i));
        b = _mm512_add_epi64(b, _mm512_loadu_si512(x + i + 8));
    }
    for (; i < n; i += 8) a = _mm512_add_epi64(a, _mm512_maskz_loadu_epi64(lanes(std::min<int64_t>(8, n - i)), x + i));
    return _mm512_reduce_add_epi64(_mm512_add_epi64(a, b));
}

inline int64_t sum_and_copy(const int64_t* x, int64_t n, int64_t* to) {
    __m512i a = _mm512_setzero_si512(), b = a;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512i first = _mm512_loadu_si512(x + i), second = _mm512_loadu_si512(x + i + 8);
        _mm512_storeu_si512(to + i, first);
        _mm512_storeu_si512(to + i + 8, second);
        a = _mm512_add_epi64(a, first);
        b = _mm512_add_epi64(b, second);
    }
    for (; i < n; i += 8) {
        const __mmask8 active = lanes(std::min<int64_t>(8, n - i));
        const __m512i some = _mm512_maskz_loadu_epi64(active, x + i);
        _mm512_mask_storeu_epi64(to + i, active, some);
        a = _mm512_add_epi64(a, some);
    }
    return _mm512_reduce_add_epi64(_mm512_add_epi64(a, b));
}

inline void copy(const int64_t* from, int64_t n, int64_t* to) {
    int64_t i = 0;
#if STREAM_OUT
    i = std::min<int64_t>(n, -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) / 8) & 7);
    _mm512_mask_storeu_epi64(to, lanes(i), _mm512_maskz_loadu_epi64(lanes(i), from));
    for (; i + 8 <= n; i += 8) _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
#else
    for (; i + 16 <= n; i += 16) {
        const __m512i first = _mm512_loadu_si512(from + i), second = _mm512_loadu_si512(from + i + 8);
        _mm512_storeu_si512(to + i, first);
        _mm512_storeu_si512(to + i + 8, second);
    }
#endif
    for (; i < n; i += 8) {
        const __mmask8 active = lanes(std::min<int64_t>(8, n - i));
        _mm512_mask_storeu_epi64(to + i, active, _mm512_maskz_loadu_epi64(active, from + i));
    }
}

// Inlined by force: a call of a function that only prefetches is dropped as having no effect.
[[gnu::always_inline]] inline void prefetch(const int64_t* from, int64_t direction) {
    if (PREFETCH_BYTES > 0) __builtin_prefetch(from + direction * (PREFETCH_BYTES / 8));
}

struct Place {  // between two (feature, user) cells: the cell after it
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
            prefetch(ids + own, 1);
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
            const int64_t own = sum_and_copy(event, n_kept, event_out);
            ids -= own + sum(event + n_kept, n - n_kept);
            ids_out -= own;
            prefetch(ids, -1);
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
    const bool alone = KE_THREADS == 1 || F * E < MIN_PARALLEL;
    const Place place = alone ? Place{F, 0} : middle(batch);
#pragma omp parallel for schedule(static) num_threads(2) if (!alone)
    for (int half = 0; half < 2; ++half) {
        if (half == 0) forwards(batch, place);
        else backwards(batch, place);
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    return 0;
}
