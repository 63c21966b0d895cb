// Names SLEEF's vector functions, in the variants with an error of at most 1 ulp. They are called by the name
// of the instruction set, so that SLEEF does not dispatch again at run time.
#pragma once

#include "kernels/simd.hpp"

#include <nlsq/op.hpp>

#include <sleef.h>

// NLSQ_SLEEF_64(exp, _u10) is the function for vectors of doubles, and NLSQ_SLEEF_32(exp, _u10) the one for
// floats.
#define NLSQ_CONCATENATE(a, b, c, d, e) a##b##c##d##e
#if defined(NLSQ_KERNEL_SET_avx512)
#define NLSQ_SLEEF_64(name, bound) NLSQ_CONCATENATE(Sleef_, name, d8, bound, avx512f)
#define NLSQ_SLEEF_32(name, bound) NLSQ_CONCATENATE(Sleef_, name, f16, bound, avx512f)
#elif defined(NLSQ_KERNEL_SET_avx2)
#define NLSQ_SLEEF_64(name, bound) NLSQ_CONCATENATE(Sleef_, name, d4, bound, avx2)
#define NLSQ_SLEEF_32(name, bound) NLSQ_CONCATENATE(Sleef_, name, f8, bound, avx2)
#elif defined(NLSQ_KERNEL_SET_neon)
#define NLSQ_SLEEF_64(name, bound) NLSQ_CONCATENATE(Sleef_, name, d2, bound, advsimd)
#define NLSQ_SLEEF_32(name, bound) NLSQ_CONCATENATE(Sleef_, name, f4, bound, advsimd)
#elif defined(__SSE2__)
#define NLSQ_SLEEF_64(name, bound) NLSQ_CONCATENATE(Sleef_, name, d2, bound, sse2)
#define NLSQ_SLEEF_32(name, bound) NLSQ_CONCATENATE(Sleef_, name, f4, bound, sse2)
#else
#define NLSQ_SLEEF_LANES 1  // without vector functions, SLEEF's scalar ones run lane by lane
#define NLSQ_SLEEF_64(name, bound) NLSQ_CONCATENATE(Sleef_, name, , bound, )
#define NLSQ_SLEEF_32(name, bound) NLSQ_CONCATENATE(Sleef_, name, f, bound, )
#endif

namespace nlsq::inline v0 {
namespace {

using V64 = Simd<double>::V;
using V32 = Simd<float>::V;

#if defined(NLSQ_SLEEF_LANES)
#define NLSQ_SLEEF_FUNCTION_1(name, sleef, bound)                                 \
  NLSQ_INLINE V64 name(V64 a) {                                                   \
    for (std::size_t i = 0; i < 2; ++i) a[i] = NLSQ_SLEEF_64(sleef, bound)(a[i]); \
    return a;                                                                     \
  }                                                                               \
  NLSQ_INLINE V32 name(V32 a) {                                                   \
    for (std::size_t i = 0; i < 4; ++i) a[i] = NLSQ_SLEEF_32(sleef, bound)(a[i]); \
    return a;                                                                     \
  }
#define NLSQ_SLEEF_FUNCTION_2(name, sleef, bound)                                       \
  NLSQ_INLINE V64 name(V64 a, V64 b) {                                                  \
    for (std::size_t i = 0; i < 2; ++i) a[i] = NLSQ_SLEEF_64(sleef, bound)(a[i], b[i]); \
    return a;                                                                           \
  }                                                                                     \
  NLSQ_INLINE V32 name(V32 a, V32 b) {                                                  \
    for (std::size_t i = 0; i < 4; ++i) a[i] = NLSQ_SLEEF_32(sleef, bound)(a[i], b[i]); \
    return a;                                                                           \
  }
#else
#define NLSQ_SLEEF_FUNCTION_1(name, sleef, bound)                                               \
  NLSQ_INLINE V64 name(V64 a) { return from_raw<double>(NLSQ_SLEEF_64(sleef, bound)(raw(a))); } \
  NLSQ_INLINE V32 name(V32 a) { return from_raw<float>(NLSQ_SLEEF_32(sleef, bound)(raw(a))); }
#define NLSQ_SLEEF_FUNCTION_2(name, sleef, bound)                         \
  NLSQ_INLINE V64 name(V64 a, V64 b) {                                    \
    return from_raw<double>(NLSQ_SLEEF_64(sleef, bound)(raw(a), raw(b))); \
  }                                                                       \
  NLSQ_INLINE V32 name(V32 a, V32 b) { return from_raw<float>(NLSQ_SLEEF_32(sleef, bound)(raw(a), raw(b))); }
#endif

namespace sleef {
#define NLSQ_SLEEF_SAME(name) NLSQ_SLEEF_FUNCTION_1(name, name, _u10)
NLSQ_ELEMENTARY_FUNCTIONS(NLSQ_SLEEF_SAME)
#undef NLSQ_SLEEF_SAME
NLSQ_SLEEF_FUNCTION_1(erfc, erfc, _u15)
NLSQ_SLEEF_FUNCTION_1(gamma, tgamma, _u10)
NLSQ_SLEEF_FUNCTION_1(lgamma, lgamma, _u10)
NLSQ_SLEEF_FUNCTION_2(pow, pow, _u10)
NLSQ_SLEEF_FUNCTION_2(hypot, hypot, _u05)
NLSQ_SLEEF_FUNCTION_2(atan2, atan2, _u10)

#if !defined(NLSQ_KERNEL_SET_baseline)
struct SinCos {
  V64 sine, cosine;
};
NLSQ_INLINE SinCos sincos(V64 a) {
  const auto pair = NLSQ_SLEEF_64(sincos, _u10)(raw(a));
  return {from_raw<double>(pair.x), from_raw<double>(pair.y)};
}
NLSQ_INLINE SinCos sincospi(V64 a) {
  const auto pair = NLSQ_SLEEF_64(sincospi, _u05)(raw(a));
  return {from_raw<double>(pair.x), from_raw<double>(pair.y)};
}
#endif
}  // namespace sleef

}  // namespace
}  // namespace nlsq::inline v0
