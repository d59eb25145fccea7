// Inductor's vectors call the Sleef library, which lives inside libtorch. Here the same names are served by the C
// library's vector functions (glibc 2.35 and later), or one lane at a time.
#if defined(__AVX512F__) && defined(CPU_CAPABILITY_AVX512)
#define KE_F __m512
#define KE_D __m512d
#define KE_NF 16
#define KE_ND 8
#define KE_SLEEF_F(name) Sleef_##name##f16
#define KE_SLEEF_D(name) Sleef_##name##d8
#define KE_MVEC_F(args, name) _ZGVeN16##args##_##name##f
#define KE_MVEC_D(args, name) _ZGVeN8##args##_##name
#elif defined(__AVX2__) && defined(CPU_CAPABILITY_AVX2)
#define KE_F __m256
#define KE_D __m256d
#define KE_NF 8
#define KE_ND 4
#define KE_SLEEF_F(name) Sleef_##name##f8
#define KE_SLEEF_D(name) Sleef_##name##d4
#define KE_MVEC_F(args, name) _ZGVdN8##args##_##name##f
#define KE_MVEC_D(args, name) _ZGVdN4##args##_##name
#endif

#ifdef KE_F
#define KE_JOIN_(a, b) a##b
#define KE_JOIN(a, b) KE_JOIN_(a, b)
#define KE_LANES1(function, V, T, N, std_name) \
    extern "C" V function(V x) { T a[N]; std::memcpy(a, &x, sizeof x); for (T& v : a) v = std::std_name(v); std::memcpy(&x, a, sizeof x); return x; }
#define KE_LANES2(function, V, T, N, std_name) \
    extern "C" V function(V x, V y) { T a[N], b[N]; std::memcpy(a, &x, sizeof x); std::memcpy(b, &y, sizeof y); \
        for (int i = 0; i < N; i++) a[i] = std::std_name(a[i], b[i]); std::memcpy(&x, a, sizeof x); return x; }
#define KE_EACH1(name, suffix) \
    KE_LANES1(KE_JOIN(KE_SLEEF_F(name), suffix), KE_F, float, KE_NF, name) KE_LANES1(KE_JOIN(KE_SLEEF_D(name), suffix), KE_D, double, KE_ND, name)
#define KE_EACH2(name, suffix) \
    KE_LANES2(KE_JOIN(KE_SLEEF_F(name), suffix), KE_F, float, KE_NF, name) KE_LANES2(KE_JOIN(KE_SLEEF_D(name), suffix), KE_D, double, KE_ND, name)
#if defined(__x86_64__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define KE_MVEC 1
#endif
#endif
#ifdef KE_MVEC
#define KE_CALL1(function, V, mvec) extern "C" V mvec(V); extern "C" V function(V x) { return mvec(x); }
#define KE_CALL2(function, V, mvec) extern "C" V mvec(V, V); extern "C" V function(V x, V y) { return mvec(x, y); }
#define KE_VECTOR1(name, suffix) \
    KE_CALL1(KE_JOIN(KE_SLEEF_F(name), suffix), KE_F, KE_MVEC_F(v, name)) KE_CALL1(KE_JOIN(KE_SLEEF_D(name), suffix), KE_D, KE_MVEC_D(v, name))
#define KE_VECTOR2(name, suffix) \
    KE_CALL2(KE_JOIN(KE_SLEEF_F(name), suffix), KE_F, KE_MVEC_F(vv, name)) KE_CALL2(KE_JOIN(KE_SLEEF_D(name), suffix), KE_D, KE_MVEC_D(vv, name))
#define KE_FAST1(name, suffix) KE_CALL1(KE_JOIN(KE_SLEEF_F(name), suffix), KE_F, KE_MVEC_F(v, name))
#else
#define KE_VECTOR1 KE_EACH1
#define KE_VECTOR2 KE_EACH2
#define KE_FAST1(name, suffix) KE_LANES1(KE_JOIN(KE_SLEEF_F(name), suffix), KE_F, float, KE_NF, name)
#endif
KE_VECTOR1(acos, _u10) KE_VECTOR1(acosh, _u10) KE_VECTOR1(asin, _u10) KE_VECTOR1(asinh, _u10)
KE_VECTOR1(atan, _u10) KE_VECTOR1(atanh, _u10) KE_VECTOR1(cos, _u10) KE_VECTOR1(cosh, _u10)
KE_VECTOR1(erf, _u10) KE_VECTOR1(erfc, _u15) KE_VECTOR1(exp, _u10) KE_VECTOR1(exp2, _u10)
KE_VECTOR1(expm1, _u10) KE_VECTOR1(log, _u10) KE_VECTOR1(log10, _u10) KE_VECTOR1(log1p, _u10)
KE_VECTOR1(log2, _u10) KE_VECTOR1(sin, _u10) KE_VECTOR1(sinh, _u10) KE_VECTOR1(tan, _u10) KE_VECTOR1(tanh, _u10)
KE_FAST1(sin, _u35) KE_FAST1(cos, _u35)
KE_VECTOR2(atan2, _u10) KE_VECTOR2(pow, _u10) KE_VECTOR2(hypot, _u05)
KE_EACH1(lgamma, _u10) KE_EACH2(fmod, ) KE_EACH2(nextafter, ) KE_EACH2(copysign, )
#endif
