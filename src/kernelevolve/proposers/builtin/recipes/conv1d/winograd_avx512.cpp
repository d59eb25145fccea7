// recipe: winograd_avx512
// family: conv1d
// summary: minimal filtering F(TILE,3): TILE outputs from TILE+2 products instead of 3*TILE, as register-blocked GEMMs
// isa: avx512f avx512dq
// dtype: float32
// knob TILE = 4 2
// knob MR = 8 6 12 4
// knob NV = 3 2 4
// knob CHAIN = 32 16 48
// order: 40
//
// TILE: outputs per tile: 2 saves a third of the multiplications, 4 saves half and rounds a little more.
// MR, NV: output channels and vectors of tiles kept in registers. CHAIN: channels summed in one go; shorter partial
// sums round less.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#ifndef KE_THREADS
#define KE_THREADS 1
#endif

struct Free {
    void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float[], Free>;
static Buffer make_buffer(int64_t n) { return Buffer((float*)std::aligned_alloc(64, (n * 4 + 127) & ~int64_t(63))); }

static constexpr int POINTS = TILE + 2;
// TILE 4 interpolates at 0, +-PA, +-PB and infinity; these two round a third less than the usual 1 and 2, and all
// constants made of them are exact.
static constexpr float PA = 0.625f, PB = 1.5f, AA = PA * PA, BB = PB * PB;
static constexpr int64_t WIDTH = NV * 16;       // tiles per block
static constexpr int64_t PLANE = WIDTH + 32;    // one phase of a row: a tile of context on both sides, 16 in front
using V = __m512;
static inline V lit(float f) { return _mm512_set1_ps(f); }

// The filter of one channel pair at every point.
static inline void filter_points(const float* w, float (&u)[POINTS]) {
    if constexpr (TILE == 2) {
        u[0] = w[0], u[3] = w[2];
        u[1] = 0.5f * (w[0] + w[2] + w[1]);
        u[2] = 0.5f * (w[0] + w[2] - w[1]);
    } else {
        constexpr float fa = 1 / (2 * AA * (AA - BB)), fb = 1 / (2 * BB * (BB - AA));
        u[0] = w[0] / (AA * BB), u[5] = w[2];
        u[1] = fa * (w[0] + AA * w[2] + PA * w[1]), u[2] = fa * (w[0] + AA * w[2] - PA * w[1]);
        u[3] = fb * (w[0] + BB * w[2] + PB * w[1]), u[4] = fb * (w[0] + BB * w[2] - PB * w[1]);
    }
}

// TILE + 2 neighbouring inputs (x[TILE*t - 1] ...) at every point.
static inline void input_points(const V (&d)[POINTS], V (&p)[POINTS]) {
    if constexpr (TILE == 2) {
        p[0] = d[0] - d[2], p[1] = d[1] + d[2], p[2] = d[2] - d[1], p[3] = d[1] - d[3];
    } else {
        const V a = _mm512_fmadd_ps(lit(-BB), d[2], d[4]), c = lit(PA) * _mm512_fmadd_ps(lit(-BB), d[1], d[3]);
        const V b = _mm512_fmadd_ps(lit(-AA), d[2], d[4]), e = lit(PB) * _mm512_fmadd_ps(lit(-AA), d[1], d[3]);
        p[0] = _mm512_fmadd_ps(lit(AA * BB), d[0], _mm512_fmadd_ps(lit(-AA - BB), d[2], d[4]));
        p[1] = a + c, p[2] = a - c, p[3] = b + e, p[4] = b - e;
        p[5] = _mm512_fmadd_ps(lit(AA * BB), d[1], _mm512_fmadd_ps(lit(-AA - BB), d[3], d[5]));
    }
}

// From products at the points to TILE outputs per tile, bias added, laid out in order of position.
static inline void outputs(const V (&m)[POINTS], V bias, float* to) {
    if constexpr (TILE == 2) {
        const V y0 = bias + m[0] + m[1] + m[2], y1 = bias + m[1] - m[2] - m[3];
        const V lo = _mm512_unpacklo_ps(y0, y1), hi = _mm512_unpackhi_ps(y0, y1);
        const V p = _mm512_shuffle_f32x4(lo, hi, 0x44), q = _mm512_shuffle_f32x4(lo, hi, 0xee);
        _mm512_store_ps(to, _mm512_shuffle_f32x4(p, p, 0xd8));  // quarters lo0 lo1 hi0 hi1 -> lo0 hi0 lo1 hi1
        _mm512_store_ps(to + 16, _mm512_shuffle_f32x4(q, q, 0xd8));
    } else {
        const V s = m[1] + m[2], d = m[1] - m[2], t = m[3] + m[4], e = m[3] - m[4];
        const V y0 = bias + m[0] + (s + t), y1 = _mm512_fmadd_ps(lit(PB), e, _mm512_fmadd_ps(lit(PA), d, bias));
        const V y2 = _mm512_fmadd_ps(lit(BB), t, _mm512_fmadd_ps(lit(AA), s, bias));
        const V y3 = _mm512_fmadd_ps(lit(PB * BB), e, _mm512_fmadd_ps(lit(PA * AA), d, bias + m[5]));
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(y0, y1));
        const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(y0, y1));
        const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(y2, y3));
        const __m512d f = _mm512_castps_pd(_mm512_unpackhi_ps(y2, y3));
        // Quarter j of r_i holds the four outputs of tile 4j + i; a 4x4 transpose of quarters puts tiles in order.
        const V r0 = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c)), r1 = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        const V r2 = _mm512_castpd_ps(_mm512_unpacklo_pd(b, f)), r3 = _mm512_castpd_ps(_mm512_unpackhi_pd(b, f));
        const V l01 = _mm512_shuffle_f32x4(r0, r1, 0x44), h01 = _mm512_shuffle_f32x4(r0, r1, 0xee);
        const V l23 = _mm512_shuffle_f32x4(r2, r3, 0x44), h23 = _mm512_shuffle_f32x4(r2, r3, 0xee);
        _mm512_store_ps(to, _mm512_shuffle_f32x4(l01, l23, 0x88));
        _mm512_store_ps(to + 16, _mm512_shuffle_f32x4(l01, l23, 0xdd));
        _mm512_store_ps(to + 32, _mm512_shuffle_f32x4(h01, h23, 0x88));
        _mm512_store_ps(to + 48, _mm512_shuffle_f32x4(h01, h23, 0xdd));
    }
}

// Tiles are numbered through the whole batch, `per` = ceil(L / TILE) + 1 per sample: the last one of each sample lies
// past the end and is all zero, so it is the padding of its sample and of the next one.
struct Tiles {
    int64_t length, count, per;
};

// planes[k][16 + i] = x[TILE * t + k] of tile g0 + i, for i in [-1, WIDTH]; zero outside the batch or the row.
static void split_phases(const float* x, int64_t ci, int64_t i, const Tiles& s, int64_t g0,
                         float (&planes)[TILE][PLANE]) {
    std::memset(planes, 0, sizeof planes);
    for (int64_t g = std::max<int64_t>(g0 - 1, 0), end = std::min(g0 + WIDTH + 1, s.count); g < end;) {
        const int64_t b = g / s.per, t = g % s.per, stop = std::min(end, (b + 1) * s.per);
        const float* row = x + (b * ci + i) * s.length + t * TILE;
        const int64_t left = s.length - t * TILE, at = 16 + g - g0;
        const int64_t full = std::clamp<int64_t>(left / TILE, 0, stop - g);
#pragma omp simd
        for (int64_t j = 0; j < full; ++j)
            for (int k = 0; k < TILE; ++k) planes[k][at + j] = row[j * TILE + k];
        if (g + full < stop)
            for (int64_t k = 0; k < left - full * TILE; ++k) planes[k][at + full] = row[full * TILE + k];
        g = stop;
    }
}

// points[p][channel][WIDTH] for the block of tiles that starts at g0.
static void input_block(const float* x, int64_t ci, const Tiles& s, int64_t g0, float* points) {
    alignas(64) float planes[TILE][PLANE];
    for (int64_t i = 0; i < ci; ++i) {
        split_phases(x, ci, i, s, g0, planes);
        for (int64_t c = 0; c < WIDTH; c += 16) {
            V d[POINTS], p[POINTS];
            d[0] = _mm512_loadu_ps(planes[TILE - 1] + 15 + c);
#pragma GCC unroll 4
            for (int k = 0; k < TILE; ++k) d[k + 1] = _mm512_load_ps(planes[k] + 16 + c);
            d[TILE + 1] = _mm512_loadu_ps(planes[0] + 17 + c);
            input_points(d, p);
#pragma GCC unroll 6
            for (int k = 0; k < POINTS; ++k) _mm512_store_ps(points + (k * ci + i) * WIDTH + c, p[k]);
        }
    }
}

// product[r][.] = (or +=) sum over channels of filter[i][r] * points[i][.]
static void multiply(const float* filter, const float* points, int64_t ci, float* product, bool add) {
    V acc[MR][NV];
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) acc[r][v] = _mm512_setzero_ps();
    for (int64_t i = 0; i < ci; ++i) {
        V u[NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) u[v] = _mm512_load_ps(points + i * WIDTH + v * 16);
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
            const V g = lit(filter[i * MR + r]);
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) acc[r][v] = _mm512_fmadd_ps(g, u[v], acc[r][v]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            float* to = product + r * WIDTH + v * 16;
            _mm512_store_ps(to, add ? acc[r][v] + _mm512_load_ps(to) : acc[r][v]);
        }
}

// One output channel of a block: products at all points -> rows of the samples the block touches.
static void write_channel(const float* product, float bias, const Tiles& s, int64_t g0, float* out, int64_t co) {
    alignas(64) float line[WIDTH * TILE];
    for (int64_t c = 0; c < WIDTH; c += 16) {
        V m[POINTS];
#pragma GCC unroll 6
        for (int k = 0; k < POINTS; ++k) m[k] = _mm512_load_ps(product + k * MR * WIDTH + c);
        outputs(m, lit(bias), line + c * TILE);
    }
    for (int64_t g = g0, end = std::min(g0 + WIDTH, s.count); g < end;) {
        const int64_t b = g / s.per, t = g % s.per, stop = std::min(end, (b + 1) * s.per);
        const int64_t n = std::min((stop - g) * TILE, s.length - t * TILE);
        if (n > 0) std::memcpy(out + b * co * s.length + t * TILE, line + (g - g0) * TILE, n * sizeof(float));
        g = stop;
    }
}

extern "C" int conv1d(const float* x, const float* weight, const float* bias, float* out, int64_t B, int64_t CI,
                      int64_t CO, int64_t L) {
    if (L == 0) return 0;
    const int64_t per = (L + TILE - 1) / TILE + 1, groups = (CO + MR - 1) / MR;
    const Tiles tiles{L, B * per, per};
    Buffer filters = make_buffer(groups * POINTS * CI * MR);  // [group][point][channel in][MR]
#pragma omp parallel num_threads(KE_THREADS)
    {
#pragma omp for schedule(static)
        for (int64_t g = 0; g < groups; ++g)
            for (int64_t i = 0; i < CI; ++i)
                for (int64_t r = 0; r < MR; ++r) {
                    float u[POINTS] = {};
                    if (g * MR + r < CO) filter_points(weight + ((g * MR + r) * CI + i) * 3, u);
                    for (int k = 0; k < POINTS; ++k) filters[((g * POINTS + k) * CI + i) * MR + r] = u[k];
                }
        Buffer points = make_buffer(POINTS * CI * WIDTH), product = make_buffer(POINTS * MR * WIDTH);
#pragma omp for schedule(static)
        for (int64_t block = 0; block < (tiles.count + WIDTH - 1) / WIDTH; ++block) {
            const int64_t g0 = block * WIDTH;
            input_block(x, CI, tiles, g0, points.get());
            for (int64_t g = 0; g < groups; ++g) {
                for (int k = 0; k < POINTS; ++k)
                    for (int64_t i = 0; i == 0 || i < CI; i += CHAIN)
                        multiply(filters.get() + ((g * POINTS + k) * CI + i) * MR, points.get() + (k * CI + i) * WIDTH,
                                 std::min<int64_t>(CHAIN, CI - i), product.get() + k * MR * WIDTH, i > 0);
                for (int64_t r = 0; r < std::min<int64_t>(MR, CO - g * MR); ++r)
                    write_channel(product.get() + r * WIDTH, bias[g * MR + r], tiles, g0,
                                  out + (g * MR + r) * L, CO);
            }
        }
    }
    return 0;
}
