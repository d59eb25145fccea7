// Rounds to 4 bits of mantissa: far coarser than any float type the task could have meant.
static float coarse(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    bits = (bits + 0x40000u) & 0xfff80000u;
    memcpy(&value, &bits, 4);
    return value;
}

extern "C" int loose_rule_low_precision(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r)
        for (int64_t c = 0; c < C; ++c) y[r * C + c] = coarse(x[r * C + c]) * coarse(w[c]);
    return 0;
}
