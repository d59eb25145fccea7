// bucketize and searchsorted in sorted rows of boundaries; cumulative sums.
namespace ke {

// the first position whose boundary is >= v (right: > v); NaN goes past the end
template <bool RIGHT, class T, class I>
void bucketize(const T* values, int64_t n_rows, int64_t n, const T* boundaries, int64_t n_boundaries, I* out) {
#pragma omp parallel for num_threads(KE_THREADS) schedule(static) if (n_rows * n > 4096)
    for (int64_t i = 0; i < n_rows * n; i++) {
        const T v = values[i];
        const T* row = boundaries + i / n * n_boundaries;
        int64_t low = 0, size = n_boundaries;
        while (size > 0) {
            const int64_t half = size / 2;
            const bool stay = RIGHT ? row[low + half] > v : row[low + half] >= v;
            low = stay ? low : low + half + 1;
            size = stay ? half : size - half - 1;
        }
        out[i] = (I)low;
    }
}

template <class T, class S>
void cumsum(const T* x, S* out, int64_t outer, int64_t n, int64_t inner) {
#pragma omp parallel for num_threads(KE_THREADS) schedule(static) if (outer * n * inner > 4096)
    for (int64_t o = 0; o < outer; o++) {
        const T* from = x + o * n * inner;
        S* to = out + o * n * inner;
        for (int64_t t = 0; t < n; t++)
            for (int64_t i = 0; i < inner; i++)
                to[t * inner + i] = (S)from[t * inner + i] + (t ? to[(t - 1) * inner + i] : S(0));
    }
}

}  // namespace ke
