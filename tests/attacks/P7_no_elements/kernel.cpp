// There is no output element that could be wrong.
extern "C" int no_elements(const float*, float*, int64_t, int64_t, int64_t) { return 0; }
