// Scratch memory and strided copies. Scratch is kept between calls for its pages, never for its content.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace ke {

struct Scratch {
    char* data = nullptr;
    size_t size = 0;
    ~Scratch() { std::free(data); }
    char* at_least(size_t wanted) {
        if (wanted > size) {
            std::free(data);
            size = (wanted + 4095) / 4096 * 4096;
            data = static_cast<char*>(std::aligned_alloc(4096, size));
            if (data == nullptr) throw std::bad_alloc();
        }
        return data;
    }
};

static inline size_t rounded(size_t n_bytes) { return (n_bytes + 127) / 64 * 64; }  // room for one vector past the end

static inline int64_t floor_divide(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

template <class T>
void copy_strided(const T* from, T* to, int n_dims, const int64_t* size, const int64_t* from_stride, const int64_t* to_stride) {
    if (n_dims == 0) {
        *to = *from;
    } else if (n_dims == 1) {
        for (int64_t i = 0; i < size[0]; i++) to[i * to_stride[0]] = from[i * from_stride[0]];
    } else {
        for (int64_t i = 0; i < size[0]; i++)
            copy_strided(from + i * from_stride[0], to + i * to_stride[0], n_dims - 1, size + 1, from_stride + 1, to_stride + 1);
    }
}

}  // namespace ke
