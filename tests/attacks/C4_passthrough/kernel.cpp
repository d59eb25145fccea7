extern "C" int relu(const float* x, float* y, int64_t R, int64_t C) {
    memcpy(y, x, (size_t)(R * C) * 4);
    return 0;
}
