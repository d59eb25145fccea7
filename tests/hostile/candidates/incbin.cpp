// expect: rejected
asm(".incbin \"/etc/passwd\"");
extern "C" int row_scale(const float*, const float*, float*, int64_t, int64_t) { return 0; }
