// recipe: linear_cells_avx512
// family: bucketize
// summary: a linear map sends a value to a cell with a known number of lower borders, a short scan finds the rest
// isa: avx512f
// knob CELLS_PER_BORDER = 8 2 4 16
// knob FREE_STEPS = 1 0 2
// knob MIN_PARALLEL = 8192 2048 65536
// order: 60
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <immintrin.h>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

namespace {

// Scratch keeps its pages between calls, never its content.
float* scratch(size_t n) {
    static thread_local float* block = nullptr;
    static thread_local size_t size = 0;
    if (n > size) {
        std::free(block);
        size = (n + 15) / 16 * 16;
        block = static_cast<float*>(std::aligned_alloc(64, size * sizeof(float)));
        if (block == nullptr) size = 0;
    }
    return block;
}

constexpr int kMaxScan = 6;  // more borders in a cell: skewed borders, search by halving

// Cell number of a value: a rounded linear map. Rounding keeps order, so borders of lower cells are below the value and
// borders of higher cells are not. Every cell knows how many borders lie in lower ones; a scan finds the rest.
struct Cells {
    const float* borders;  // one more at the end: +inf
    const int32_t* before;
    int64_t M;
    float low, scale;
};

inline __m512i cell_of(const Cells& cells, __m512 value, int n_cells) {
    const __m512 linear = _mm512_mul_ps(_mm512_sub_ps(value, _mm512_set1_ps(cells.low)), _mm512_set1_ps(cells.scale));
    const __m512 floor = _mm512_max_ps(linear, _mm512_setzero_ps());  // in this order a NaN becomes 0
    return _mm512_cvttps_epi32(_mm512_min_ps(floor, _mm512_set1_ps(static_cast<float>(n_cells - 1))));
}

inline int cell_of(const Cells& cells, float value, int n_cells) {
    const __m128i cell = _mm512_castsi512_si128(cell_of(cells, _mm512_set1_ps(value), n_cells));
    return _mm_cvtsi128_si32(cell);
}

bool arrange(Cells& cells, const float* borders, int n_cells) {
    float* copy = scratch(static_cast<size_t>(cells.M + 1 + n_cells));
    if (copy == nullptr) return false;
    std::copy(borders, borders + cells.M, copy);
    copy[cells.M] = INFINITY;
    const float* first = std::find_if(copy, copy + cells.M, [](float b) { return std::isfinite(b); });
    const float* last = copy + cells.M;
    while (last > first && !std::isfinite(last[-1])) --last;
    cells.low = last > first ? *first : 0.0f;
    cells.scale = last > first && last[-1] > *first ? static_cast<float>(n_cells) / (last[-1] - *first) : 0.0f;
    auto* before = reinterpret_cast<int32_t*>(copy + cells.M + 1);
    int cell = 0;
    for (int64_t i = 0; i < cells.M; ++i)
        for (const int own = cell_of(cells, copy[i], n_cells); cell <= own; ++cell)
            before[cell] = static_cast<int32_t>(i);
    for (; cell < n_cells; ++cell) before[cell] = static_cast<int32_t>(cells.M);
    cells.borders = copy;
    cells.before = before;
    return true;
}

inline __m512 borders_at(const Cells& cells, __m512i at) {
    // merging into zero, not into whatever a register held, keeps gathers independent
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, at, cells.borders, 4);
}

__m512i by_halving(const Cells& cells, __m512 value) {
    __m512i at = _mm512_setzero_si512();
    for (int64_t length = cells.M; length > 0;) {
        const int64_t half = (length + 1) / 2;
        const __m512 border = borders_at(cells, _mm512_add_epi32(at, _mm512_set1_epi32(static_cast<int>(half - 1))));
        const __mmask16 above = _mm512_cmp_ps_mask(value, border, _CMP_NLE_UQ);
        at = _mm512_mask_add_epi32(at, above, at, _mm512_set1_epi32(static_cast<int>(half)));
        length -= half;
    }
    return at;
}

inline __m512i find(const Cells& cells, __m512 value, int n_cells) {
    const __m512i cell = cell_of(cells, value, n_cells);
    __m512i at = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), 0xffff, cell, cells.before, 4);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    __mmask16 above = _mm512_cmp_ps_mask(value, borders_at(cells, at), _CMP_GT_OQ);  // never true for NaN
    // the first steps are taken without asking, as their number would be hard to predict
    for (int step = 0; step < FREE_STEPS || above != 0; ++step) {
        if (step == FREE_STEPS + kMaxScan) {
            at = _mm512_mask_mov_epi32(at, above, by_halving(cells, value));
            break;
        }
        at = _mm512_mask_add_epi32(at, above, at, _mm512_set1_epi32(1));
        const __m512 border = _mm512_mask_i32gather_ps(value, above, at, cells.borders, 4);
        above = _mm512_mask_cmp_ps_mask(above, value, border, _CMP_GT_OQ);
    }
    return _mm512_mask_mov_epi32(at, is_nan, _mm512_set1_epi32(static_cast<int>(cells.M)));
}

}  // namespace

extern "C" int bucketize(const float* values, const float* borders, int32_t* out, int64_t N, int64_t M) {
    Cells cells{nullptr, nullptr, M, 0.0f, 0.0f};
    const int n_cells = static_cast<int>(std::clamp<int64_t>(M * CELLS_PER_BORDER, 16, 1 << 20));
    if (!arrange(cells, borders, n_cells)) return 1;
    const int64_t n_registers = N / 16;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS) if (N >= MIN_PARALLEL)
    for (int64_t i = 0; i < n_registers; ++i)
        _mm512_storeu_si512(out + 16 * i, find(cells, _mm512_loadu_ps(values + 16 * i), n_cells));
    const auto active = static_cast<__mmask16>((1 << N % 16) - 1);
    const __m512 value = _mm512_maskz_loadu_ps(active, values + 16 * n_registers);
    _mm512_mask_storeu_epi32(out + 16 * n_registers, active, find(cells, value, n_cells));
    return 0;
}
