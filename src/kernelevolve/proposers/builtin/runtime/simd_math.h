// Lets the compiler vectorise loops around these functions (it does so with -fno-math-errno), as glibc's headers do
// for -ffast-math.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define KE_SIMD(name) \
    extern "C" __attribute__((simd("notinbranch"))) float name##f(float) noexcept; \
    extern "C" __attribute__((simd("notinbranch"))) double name(double) noexcept;
KE_SIMD(exp) KE_SIMD(log) KE_SIMD(sin) KE_SIMD(cos) KE_SIMD(tanh) KE_SIMD(erf) KE_SIMD(expm1) KE_SIMD(log1p)
KE_SIMD(exp2) KE_SIMD(log2)
#endif
#endif
