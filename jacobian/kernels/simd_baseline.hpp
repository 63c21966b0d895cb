// The vector type of the baseline set has 16 bytes. It uses the compiler's vector extension, because Highway
// has no target between SSSE3 and plain scalars. Multiply-add rounds twice. Only simd.hpp includes this file.
#pragma once

#include "kernels/inline.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nlsq::inline v0 {
namespace {

template <class T>
struct Simd {
  typedef T V __attribute__((vector_size(16)));
  using M = decltype(V() < V());
  static constexpr std::size_t lanes = 16 / sizeof(T);

  NLSQ_INLINE static V load(const T* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  NLSQ_INLINE static void store(V v, T* p) { std::memcpy(p, &v, sizeof v); }
  NLSQ_INLINE static V set(T value) {
    V v;
    for (std::size_t i = 0; i < lanes; ++i) v[i] = value;  // V{} + value would turn -0 into 0
    return v;
  }
  NLSQ_INLINE static V zero() { return V{}; }

  NLSQ_INLINE static V add(V a, V b) { return a + b; }
  NLSQ_INLINE static V sub(V a, V b) { return a - b; }
  NLSQ_INLINE static V mul(V a, V b) { return a * b; }
  NLSQ_INLINE static V div(V a, V b) { return a / b; }
  NLSQ_INLINE static V mul_add(V a, V b, V c) { return a * b + c; }
  NLSQ_INLINE static V mul_sub(V a, V b, V c) { return a * b - c; }
  NLSQ_INLINE static V neg_mul_add(V a, V b, V c) { return c - a * b; }
  NLSQ_INLINE static V neg(V a) { return -a; }
  NLSQ_INLINE static V abs(V a) {
    return each(a, [](T x) { return fabs_of(x); });
  }
  NLSQ_INLINE static V sqrt(V a) {
    return each(a, [](T x) { return sqrt_of(x); });
  }
  NLSQ_INLINE static V floor(V a) {
    return each(a, [](T x) { return floor_of(x); });
  }
  NLSQ_INLINE static V ceil(V a) {
    return each(a, [](T x) { return ceil_of(x); });
  }

  // Comparisons are false where an argument is NaN.
  NLSQ_INLINE static M less(V a, V b) { return a < b; }
  NLSQ_INLINE static M less_equal(V a, V b) { return a <= b; }
  NLSQ_INLINE static M equal(V a, V b) { return a == b; }
  NLSQ_INLINE static M mask_not(M m) { return ~m; }
  NLSQ_INLINE static M mask_and(M a, M b) { return a & b; }
  NLSQ_INLINE static M mask_or(M a, M b) { return a | b; }
  NLSQ_INLINE static bool any(M m) {
    bool found = false;
    for (std::size_t i = 0; i < lanes; ++i) found |= m[i] != 0;
    return found;
  }
  NLSQ_INLINE static V choose(M m, V a, V b) { return m ? a : b; }
  // Keeps the first n lanes; the others become zero.
  NLSQ_INLINE static V keep_first(V a, std::size_t n) {
    for (std::size_t i = n; i < lanes; ++i) a[i] = 0;
    return a;
  }

  // Loads as many floats as there are lanes of double, widened.
  NLSQ_INLINE static V load_widened(const float* p) { return V{p[0], p[1]}; }
  // Returns the sum of the lanes, in double.
  NLSQ_INLINE static double sum(V a) {
    if constexpr (lanes == 2) return a[0] + a[1];
    else return (double(a[0]) + double(a[2])) + (double(a[1]) + double(a[3]));
  }

 private:
  template <class F>
  NLSQ_INLINE static V each(V a, F f) {
    for (std::size_t i = 0; i < lanes; ++i) a[i] = f(a[i]);
    return a;
  }
  NLSQ_INLINE static double fabs_of(double x) { return __builtin_fabs(x); }
  NLSQ_INLINE static float fabs_of(float x) { return __builtin_fabsf(x); }
  NLSQ_INLINE static double sqrt_of(double x) { return __builtin_sqrt(x); }
  NLSQ_INLINE static float sqrt_of(float x) { return __builtin_sqrtf(x); }
  NLSQ_INLINE static double floor_of(double x) { return __builtin_floor(x); }
  NLSQ_INLINE static float floor_of(float x) { return __builtin_floorf(x); }
  NLSQ_INLINE static double ceil_of(double x) { return __builtin_ceil(x); }
  NLSQ_INLINE static float ceil_of(float x) { return __builtin_ceilf(x); }
};

// The compiler's own vector type, which SLEEF's functions take.
template <class V>
NLSQ_INLINE V raw(V v) {
  return v;
}
template <class T, class Raw>
NLSQ_INLINE typename Simd<T>::V from_raw(Raw r) {
  return r;
}

}  // namespace
}  // namespace nlsq::inline v0
