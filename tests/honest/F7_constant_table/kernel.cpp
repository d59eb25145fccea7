static const float VALUES[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};

extern "C" int nibble_decode(const uint8_t* codes, const float* scale, float* y, int64_t R, int64_t H) {
    for (int64_t r = 0; r < R; ++r)
        for (int64_t h = 0; h < H; ++h) {
            const uint8_t both = codes[r * H + h];
            y[2 * (r * H + h)] = VALUES[both & 15] * scale[r];
            y[2 * (r * H + h) + 1] = VALUES[both >> 4] * scale[r];
        }
    return 0;
}
