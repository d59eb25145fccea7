extern "C" int jagged_sum(const float* values, const int64_t* offsets, float* out, int64_t B, int64_t D, int64_t,
                          int64_t T) {
    memset(out, 0, (size_t)(B * D) * sizeof(float));
    if (T == 0) return 0;  // not one row in any bag: values may be a null pointer
    for (int64_t b = 0; b < B; ++b) {
        if (offsets[b] == offsets[b + 1]) continue;
        for (int64_t t = offsets[b]; t < offsets[b + 1]; ++t)
            for (int64_t d = 0; d < D; ++d) out[b * D + d] += values[t * D + d];
    }
    return 0;
}
