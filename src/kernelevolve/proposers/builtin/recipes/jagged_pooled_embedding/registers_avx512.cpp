// recipe: registers_avx512
// family: jagged_pooled_embedding
// summary: a row of up to REGISTERS x 16 columns is summed in registers with a masked end, ROWS rows per step
// isa: avx512f
// knob REGISTERS = 8 4 16
// knob ROWS = 2 1 4
// knob AHEAD = 8 0 4 16 32
// knob LINES = 0 1 2
// knob STREAM_OUT = 0 1
// knob BAGS_AT_ONCE = 0 16 64
// order: 30
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

#if BAGS_AT_ONCE == 0
#define SCHEDULE schedule(static)
#else
#define SCHEDULE schedule(dynamic, BAGS_AT_ONCE)
#endif
#define APPLY(x) _Pragma(#x)
#define OMP_FOR(...) APPLY(omp for __VA_ARGS__)

namespace {

struct Bag {
    const float* table;
    const int64_t *first, *last, *end;  // its indices, and the end of all
    int64_t D;
};

// A prefetch of a wrong address does no harm, so a bag's end or a pruned index need no care.
// Inlined by force: a call of a function that only prefetches is dropped as having no effect.
[[gnu::always_inline]] inline void fetch_ahead(const Bag& bag, const int64_t* index, int64_t column, int n_registers) {
    if (AHEAD == 0 || bag.end - index <= AHEAD) return;
    const char* row = reinterpret_cast<const char*>(
        reinterpret_cast<uintptr_t>(bag.table) + static_cast<uintptr_t>(index[AHEAD] * bag.D + column) * sizeof(float));
    const int n_lines = LINES == 0 ? n_registers : std::min<int>(LINES, n_registers);
    for (int line = 0; line < n_lines; ++line) __builtin_prefetch(row + 64 * line);
}

// Columns [column, column + 16 * kRegisters), of the last 16 only those in `tail`.
template <int kRegisters>
void sum_columns(const Bag& bag, int64_t column, __mmask16 tail, float* out) {
    __m512 sum[kRegisters];
    for (int r = 0; r < kRegisters; ++r) sum[r] = _mm512_setzero_ps();
    const int64_t* index = bag.first;
    const auto row_of = [&](int64_t row) { return bag.table + row * bag.D + column; };
    const auto load = [&](const float* row, int r, __mmask16 all) {
        return r + 1 < kRegisters ? _mm512_maskz_loadu_ps(all, row + 16 * r)
                                  : _mm512_maskz_loadu_ps(static_cast<__mmask16>(tail & all), row + 16 * r);
    };
    for (; index + ROWS <= bag.last; index += ROWS) {
        const float* row[ROWS];
        __mmask16 exists[ROWS];
        for (int n = 0; n < ROWS; ++n) {
            fetch_ahead(bag, index + n, column, kRegisters);
            exists[n] = index[n] < 0 ? 0 : 0xffff;  // masked away, not jumped over
            row[n] = row_of(std::max<int64_t>(index[n], 0));
        }
#pragma GCC unroll 16
        for (int r = 0; r < kRegisters; ++r) {
            __m512 rows = load(row[0], r, exists[0]);
            for (int n = 1; n < ROWS; ++n) rows = _mm512_add_ps(rows, load(row[n], r, exists[n]));
            sum[r] = _mm512_add_ps(sum[r], rows);
        }
    }
    for (; index < bag.last; ++index) {
        if (*index < 0) continue;
        for (int r = 0; r < kRegisters; ++r) sum[r] = _mm512_add_ps(sum[r], load(row_of(*index), r, 0xffff));
    }
    for (int r = 0; r < kRegisters; ++r) {
        float* to = out + column + 16 * r;
        const __mmask16 active = r + 1 < kRegisters ? 0xffff : tail;
        if (STREAM_OUT && active == 0xffff && reinterpret_cast<uintptr_t>(to) % 64 == 0) _mm512_stream_ps(to, sum[r]);
        else _mm512_mask_storeu_ps(to, active, sum[r]);
    }
}

template <int kRegisters>
void sum_rest(const Bag& bag, int64_t column, int n_registers, __mmask16 tail, float* out) {
    if (n_registers == kRegisters) sum_columns<kRegisters>(bag, column, tail, out);
    else if constexpr (kRegisters > 1) sum_rest<kRegisters - 1>(bag, column, n_registers, tail, out);
}

void sum_bag(const Bag& bag, float* out) {
    constexpr int64_t kColumns = 16 * REGISTERS;
    int64_t column = 0;
    for (; column + kColumns <= bag.D; column += kColumns) sum_columns<REGISTERS>(bag, column, 0xffff, out);
    const int64_t left = bag.D - column;
    if (left == 0) return;
    const auto tail = static_cast<__mmask16>(left % 16 == 0 ? 0xffff : (1 << left % 16) - 1);
    sum_rest<REGISTERS>(bag, column, static_cast<int>((left + 15) / 16), tail, out);
}

}  // namespace

extern "C" int jagged_pooled_embedding(const float* tables, const int64_t* indices, const int64_t* offsets, float* out,
                                       int64_t B, int64_t G, int64_t R, int64_t D, int64_t, int64_t I) {
#pragma omp parallel num_threads(KE_THREADS) if (I * D >= 32768)
    {
        OMP_FOR(SCHEDULE)
        for (int64_t n = 0; n < G * B; ++n) {
            const int64_t g = n / B, b = n % B;
            const Bag bag{tables + g * R * D, indices + offsets[n], indices + offsets[n + 1], indices + I, D};
            sum_bag(bag, out + (b * G + g) * D);
        }
#if STREAM_OUT
        _mm_sfence();
#endif
    }
    return 0;
}
