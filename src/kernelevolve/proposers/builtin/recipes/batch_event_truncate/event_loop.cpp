// recipe: event_loop
// family: batch_event_truncate
// summary: one pass over features, users and events; ids are copied event by event
// order: 10
#include <algorithm>
#include <cstdint>

extern "C" int batch_event_truncate(const int64_t* outer, const int64_t* inner, const int64_t* values, int64_t limit,
                                    int64_t* outer_out, int64_t* inner_out, int64_t* values_out, int64_t U, int64_t F,
                                    int64_t, int64_t, int64_t, int64_t, int64_t) {
    for (int64_t u = 0; u < U; ++u) outer_out[u] = std::min(outer[u], limit);
    for (int64_t f = 0; f < F; ++f)
        for (int64_t u = 0; u < U; ++u)
            for (int64_t event = 0; event < outer[u]; ++event) {
                const int64_t n_ids = *inner++;
                if (event < limit) {
                    *inner_out++ = n_ids;
                    values_out = std::copy_n(values, n_ids, values_out);
                }
                values += n_ids;
            }
    return 0;
}
