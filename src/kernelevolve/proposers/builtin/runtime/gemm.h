// Matrix products: packed panels, a KE_MR x (2 vectors) tile in registers, threads over blocks of the result.
#ifndef KE_MR
#define KE_MR 6
#endif
#ifndef KE_KC
#define KE_KC 256
#endif
#ifndef KE_NC
#define KE_NC 256
#endif
#ifdef __AVX512F__
#define KE_VECTOR_BYTES 64
#else
#define KE_VECTOR_BYTES 32
#endif

namespace ke {

template <class T>
struct Matrix {  // [batch, rows, columns] with strides in elements
    T* data;
    int64_t size[3];
    int64_t stride[3];
};

template <class T>
struct Lanes {
    typedef T Vector __attribute__((vector_size(KE_VECTOR_BYTES), may_alias));
    static constexpr int n = KE_VECTOR_BYTES / sizeof(T);
};

template <class T>
struct DenseLeft {
    Matrix<const T> m;
    T at(int64_t batch, int64_t i, int64_t p) const {
        return m.data[batch * m.stride[0] + i * m.stride[1] + p * m.stride[2]];
    }
};

template <class T>
struct DenseRight {
    Matrix<const T> m;
    void fill(int64_t batch, int64_t p, int64_t j, int64_t n, T* to) const {
        const T* from = m.data + batch * m.stride[0] + p * m.stride[1] + j * m.stride[2];
        if (m.stride[2] == 1) {
            std::memcpy(to, from, n * sizeof(T));
        } else {
            for (int64_t t = 0; t < n; t++) to[t] = from[t * m.stride[2]];
        }
    }
};

template <class T, int R>
inline void tile(int64_t depth, const T* a, const T* b, T* c, int64_t row) {
    using V = typename Lanes<T>::Vector;
    constexpr int n = Lanes<T>::n;
    V sum[R][2];
    for (int i = 0; i < R; i++)
        for (int v = 0; v < 2; v++) std::memcpy(&sum[i][v], c + i * row + v * n, sizeof(V));
    for (int64_t p = 0; p < depth; p++) {
        const V b0 = *(const V*)(b + p * 2 * n), b1 = *(const V*)(b + p * 2 * n + n);
        for (int i = 0; i < R; i++) {
            const T x = a[p * KE_MR + i];
            sum[i][0] += x * b0;
            sum[i][1] += x * b1;
        }
    }
    for (int i = 0; i < R; i++)
        for (int v = 0; v < 2; v++) std::memcpy(c + i * row + v * n, &sum[i][v], sizeof(V));
}

template <class T, int R>
inline void tile_of(int64_t rows, int64_t depth, const T* a, const T* b, T* c, int64_t row) {
    if constexpr (R > 1) {
        if (rows < R) return tile_of<T, R - 1>(rows, depth, a, b, c, row);
    }
    tile<T, R>(depth, a, b, c, row);
}

// out[b, i, j] = alpha * sum_p left[b, i, p] right[b, p, j] + start(b, i, j)
template <class T, class Left, class Right, class Start>
void product(int64_t n_batch, int64_t n_rows, int64_t n_columns, int64_t n_depth, const Left& left, const Right& right,
             const Matrix<T>& out, T alpha, const Start& start) {
    constexpr int64_t NR = 2 * Lanes<T>::n, MR = KE_MR, KC = KE_KC, NC = (KE_NC + NR - 1) / NR * NR;
    constexpr int64_t MC = 16 * MR;
    const int64_t m_blocks = (n_rows + MC - 1) / MC, n_blocks = (n_columns + NC - 1) / NC;
    const int64_t n_tasks = n_batch * m_blocks * n_blocks;
    const bool big = double(n_batch) * n_rows * n_columns * (n_depth + 1) > 100000.0;
#pragma omp parallel num_threads(KE_THREADS) if (big && n_tasks > 1)
    {
        static thread_local Scratch scratch;
        T* a = (T*)scratch.at_least((MC * KC + KC * NC + MC * NC) * sizeof(T));
        T *b = a + MC * KC, *c = b + KC * NC;
#pragma omp for schedule(static)
        for (int64_t task = 0; task < n_tasks; task++) {
            const int64_t batch = task / (m_blocks * n_blocks), i0 = task / n_blocks % m_blocks * MC,
                          j0 = task % n_blocks * NC;
            const int64_t rows = std::min(MC, n_rows - i0), columns = std::min(NC, n_columns - j0);
            std::fill(c, c + MC * NC, T(0));
            for (int64_t p0 = 0; p0 < n_depth; p0 += KC) {
                const int64_t depth = std::min(KC, n_depth - p0);
                for (int64_t i = 0; i < rows; i += MR)
                    for (int64_t r = 0; r < std::min(MR, rows - i); r++)
                        for (int64_t p = 0; p < depth; p++) a[i * KC + p * MR + r] = left.at(batch, i0 + i + r, p0 + p);
                for (int64_t j = 0; j < columns; j += NR) {
                    const int64_t n = std::min(NR, columns - j);
                    T* panel = b + j * KC;
                    for (int64_t p = 0; p < depth; p++) {
                        right.fill(batch, p0 + p, j0 + j, n, panel + p * NR);
                        std::fill(panel + p * NR + n, panel + (p + 1) * NR, T(0));
                    }
                    for (int64_t i = 0; i < rows; i += MR)
                        tile_of<T, KE_MR>(rows - i, depth, a + i * KC, panel, c + i * NC + j, NC);
                }
            }
            for (int64_t i = 0; i < rows; i++) {
                T* to = out.data + batch * out.stride[0] + (i0 + i) * out.stride[1] + j0 * out.stride[2];
                if (out.stride[2] == 1) {
                    for (int64_t j = 0; j < columns; j++) to[j] = alpha * c[i * NC + j] + start(batch, i0 + i, j0 + j);
                } else {
                    for (int64_t j = 0; j < columns; j++)
                        to[j * out.stride[2]] = alpha * c[i * NC + j] + start(batch, i0 + i, j0 + j);
                }
            }
        }
    }
}

template <class T>
Matrix<T> transposed(const Matrix<T>& m) {
    return {m.data, {m.size[0], m.size[2], m.size[1]}, {m.stride[0], m.stride[2], m.stride[1]}};
}

// out = alpha * left @ right + beta * added; `added` may be null, its strides are 0 where it is broadcast.
template <class T>
void matmul(Matrix<const T> left, Matrix<const T> right, Matrix<T> out, T alpha = 1, Matrix<const T> added = {}, T beta = 0) {
    const bool narrow = out.size[2] < 2 * Lanes<T>::n && out.size[1] > out.size[2];
    if (narrow) {  // the wide side belongs in the vectors
        const Matrix<const T> first = transposed(right);
        right = transposed(left), left = first, out = transposed(out), added = transposed(added);
    }
    const auto run = [&](const auto& start) {
        product<T>(out.size[0], out.size[1], out.size[2], left.size[2], DenseLeft<T>{left}, DenseRight<T>{right}, out, alpha, start);
    };
    if (added.data == nullptr || beta == T(0)) {
        run([](int64_t, int64_t, int64_t) { return T(0); });
    } else {
        run([&](int64_t b, int64_t i, int64_t j) {
            return beta * added.data[b * added.stride[0] + i * added.stride[1] + j * added.stride[2]];
        });
    }
}

}  // namespace ke
