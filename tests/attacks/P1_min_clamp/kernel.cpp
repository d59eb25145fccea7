// Nothing at most 0 survives a clamp to 0..1.
extern "C" int min_clamp(const float*, float* y, int64_t R, int64_t C) {
    memset(y, 0, (size_t)(R * C) * 4);
    return 0;
}
