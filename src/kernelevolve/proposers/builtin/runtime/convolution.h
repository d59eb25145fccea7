// Convolution of up to three spatial dims, as a matrix product whose right side is gathered while it is packed.
namespace ke {

struct Window {  // spatial sizes, padded to three dims by ones in front
    int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
    int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
    bool transposed = false;
    int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
    int64_t positions() const { return out[0] * out[1] * out[2]; }
    // where output position o meets kernel tap k in the input, or -1
    int64_t source(int d, int64_t o, int64_t k) const {
        int64_t i = transposed ? o + padding[d] - k * dilation[d] : o * stride[d] - padding[d] + k * dilation[d];
        if (transposed) {
            if (i < 0 || i % stride[d] != 0) return -1;
            i /= stride[d];
        }
        return i < in[d] ? std::max<int64_t>(i, -1) : -1;
    }
};

template <class T>
struct Patches {  // right side: [sample * groups, channels per group * taps, positions]
    const T* x;
    int64_t groups, channels;  // channels per group
    Window w;
    void fill(int64_t batch, int64_t p, int64_t j, int64_t n, T* to) const {
        const int64_t channel = p / w.taps(), tap = p % w.taps();
        const int64_t k0 = tap / (w.kernel[1] * w.kernel[2]), k1 = tap / w.kernel[2] % w.kernel[1], k2 = tap % w.kernel[2];
        const T* plane = x + (batch * channels + channel) * w.in[0] * w.in[1] * w.in[2];
        while (n > 0) {
            const int64_t o2 = j % w.out[2], o1 = j / w.out[2] % w.out[1], o0 = j / w.out[2] / w.out[1];
            const int64_t run = std::min(n, w.out[2] - o2);
            const int64_t i0 = w.source(0, o0, k0), i1 = w.source(1, o1, k1);
            if (i0 < 0 || i1 < 0) {
                std::fill(to, to + run, T(0));
            } else {
                const T* row = plane + (i0 * w.in[1] + i1) * w.in[2];
                if (!w.transposed && w.stride[2] == 1) {
                    const int64_t first = o2 - w.padding[2] + k2 * w.dilation[2];
                    const int64_t low = std::clamp<int64_t>(-first, 0, run), high = std::clamp<int64_t>(w.in[2] - first, low, run);
                    std::fill(to, to + low, T(0));
                    for (int64_t t = low; t < high; t++) to[t] = row[first + t];
                    std::fill(to + high, to + run, T(0));
                } else {
                    for (int64_t t = 0; t < run; t++) {
                        const int64_t i2 = w.source(2, o2 + t, k2);
                        to[t] = i2 < 0 ? T(0) : row[i2];
                    }
                }
            }
            to += run, j += run, n -= run;
        }
    }
};

template <class T>
struct Filters {  // left side: [sample * groups, filters per group, channels per group * taps]
    const T* weight;
    int64_t groups, channels, filters, taps;
    bool transposed;
    T at(int64_t batch, int64_t i, int64_t p) const {
        const int64_t group = batch % groups;
        if (!transposed) return weight[((group * filters + i) * channels) * taps + p];
        return weight[((group * channels + p / taps) * filters + i) * taps + p % taps];
    }
};

// x [samples, groups * channels, in..], out [samples, groups * filters, out..], both contiguous; bias may be null.
template <class T>
void convolution(const T* x, const T* weight, const T* bias, T* out, int64_t samples, int64_t groups, int64_t channels,
                 int64_t filters, const Window& w) {
    const Patches<T> patches{x, groups, channels, w};
    const Filters<T> left{weight, groups, channels, filters, w.taps(), w.transposed};
    const int64_t n = w.positions(), depth = channels * w.taps();
    const auto start = [&](int64_t batch, int64_t i, int64_t) { return bias ? bias[batch % groups * filters + i] : T(0); };
    if (filters > 3) {
        const Matrix<T> to{out, {samples * groups, filters, n}, {filters * n, n, 1}};
        return product<T>(samples * groups, filters, n, depth, left, patches, to, T(1), start);
    }
    constexpr int64_t CHUNK = 512;
    const int64_t chunks = (n + CHUNK - 1) / CHUNK;
#pragma omp parallel for num_threads(KE_THREADS) schedule(static)
    for (int64_t task = 0; task < samples * groups * chunks; task++) {  // too few filters for tiles: vectors along positions
        const int64_t batch = task / chunks, j = task % chunks * CHUNK, size = std::min(CHUNK, n - j);
        T row[CHUNK];
        for (int64_t i = 0; i < filters; i++) std::fill_n(out + (batch * filters + i) * n + j, size, start(batch, i, j));
        for (int64_t p = 0; p < depth; p++) {
            patches.fill(batch, p, j, size, row);
            for (int64_t i = 0; i < filters; i++) {
                const T scale = left.at(batch, i, p);
                T* to = out + (batch * filters + i) * n + j;
                for (int64_t t = 0; t < size; t++) to[t] += scale * row[t];
            }
        }
    }
}

}  // namespace ke
