// Vectors of the instruction set that this object is compiled for, by GCC's vector extensions, with SLEEF's
// functions. Only isa_loops.cpp includes this file; everything is in an anonymous namespace.
#pragma once

#include <sleef.h>

#include <cstddef>
#include <type_traits>

#if defined(__AVX512F__)
#define BENCH_ISA avx512
#define BENCH_SLEEF_64(name) Sleef_##name##d8_u10avx512f
#define BENCH_SLEEF_32(name) Sleef_##name##f16_u10avx512f
#define BENCH_BYTES 64
#elif defined(__AVX2__)
#define BENCH_ISA avx2
#define BENCH_SLEEF_64(name) Sleef_##name##d4_u10avx2
#define BENCH_SLEEF_32(name) Sleef_##name##f8_u10avx2
#define BENCH_BYTES 32
#elif defined(__aarch64__)
#define BENCH_ISA baseline
#define BENCH_SLEEF_64(name) Sleef_##name##d2_u10advsimd
#define BENCH_SLEEF_32(name) Sleef_##name##f4_u10advsimd
#define BENCH_BYTES 16
#else
#define BENCH_ISA baseline
#define BENCH_SLEEF_64(name) Sleef_##name##d2_u10sse2
#define BENCH_SLEEF_32(name) Sleef_##name##f4_u10sse2
#define BENCH_BYTES 16
#endif

// The kernels' own inline functions, for the sets that have them.
#if defined(__AVX2__)
#define HWY_DISABLE_PCLMUL_AES
#include "kernels/simd.hpp"

#include "kernels/functions/own_log_pow.hpp"
#include "kernels/functions/own_sincos.hpp"
#endif

namespace bench {
namespace {

typedef double VectorF64 __attribute__((vector_size(BENCH_BYTES)));
typedef float VectorF32 __attribute__((vector_size(BENCH_BYTES)));

template <class T>
struct VectorOf;
template <>
struct VectorOf<double> {
  using type = VectorF64;
};
template <>
struct VectorOf<float> {
  using type = VectorF32;
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
inline constexpr std::size_t kLanes = BENCH_BYTES / sizeof(T);

// Reads a vector of T from numbers of type Stored.
template <class T, class Stored>
[[gnu::always_inline]] inline Vector<T> load(const Stored* from) {
  typedef Stored Read __attribute__((vector_size(kLanes<T> * sizeof(Stored))));
  Read v;
  __builtin_memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, Vector<T>);
}

template <class T>
struct SinCos {
  Vector<T> sine, cosine;
};

template <class T>
struct LogPow {
  Vector<T> logarithm, power;
};

// Elementary functions in the form that the loops call.
struct BySleef {
  static SinCos<double> sincos(VectorF64 v) {
    const auto both = BENCH_SLEEF_64(sincos)(v);
    return {both.x, both.y};
  }
  static SinCos<float> sincos(VectorF32 v) {
    const auto both = BENCH_SLEEF_32(sincos)(v);
    return {both.x, both.y};
  }
  static VectorF64 exp(VectorF64 v) { return BENCH_SLEEF_64(exp)(v); }
  static VectorF32 exp(VectorF32 v) { return BENCH_SLEEF_32(exp)(v); }
  static LogPow<double> log_pow(VectorF64 v, VectorF64 w) {
    return {BENCH_SLEEF_64(log)(v), BENCH_SLEEF_64(pow)(v, w)};
  }
  static LogPow<float> log_pow(VectorF32 v, VectorF32 w) {
    return {BENCH_SLEEF_32(log)(v), BENCH_SLEEF_32(pow)(v, w)};
  }
};
#if defined(__AVX2__)
template <class T>
[[gnu::always_inline]] inline auto highway(Vector<T> v) {
  return nlsq::from_raw<T>(v);
}

struct Inlined {
  template <class V>
  using Element = std::conditional_t<std::is_same_v<V, VectorF64>, double, float>;

  template <class V, class T = Element<V>>
  [[gnu::always_inline]] static SinCos<T> sincos(V v) {
    const auto both = nlsq::own::sincos<nlsq::Simd<T>>(highway<T>(v));
    return {both.sine.raw, both.cosine.raw};
  }
  template <class V, class T = Element<V>>
  [[gnu::always_inline]] static V exp(V v) {
    return nlsq::own::exp<nlsq::Simd<T>>(highway<T>(v)).raw;
  }
  // Computes log v and v^w for positive v.
  template <class V, class T = Element<V>>
  [[gnu::always_inline]] static LogPow<T> log_pow(V v, V w) {
    const auto parts = nlsq::own::log_parts<nlsq::Simd<T>>(highway<T>(v));
    return {nlsq::own::log(parts).raw, nlsq::own::pow(parts, highway<T>(w)).raw};
  }
};
#endif

}  // namespace
}  // namespace bench
