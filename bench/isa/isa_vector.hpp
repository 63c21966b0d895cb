// Vectors of the instruction set that this object is compiled for, by GCC's vector extensions, with SLEEF's
// functions. Only isa_loops.cpp includes this file; everything is in an anonymous namespace.
#pragma once

#include <sleef.h>

#include <cstddef>

#if defined(__AVX512F__)
#define BENCH_ISA avx512
#define BENCH_SLEEF_64(name) Sleef_##name##d8_u10avx512f
#define BENCH_SLEEF_32(name) Sleef_##name##f16_u10avx512f
#define BENCH_BYTES 64
// The kernels' own inline functions, which include Highway's headers for AVX-512.
#define HWY_DISABLE_PCLMUL_AES
#include "kernels/functions/exp_avx512.hpp"
#include "kernels/functions/log_pow_avx512.hpp"
#include "kernels/functions/sincos_avx512.hpp"
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

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
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
#if defined(__AVX512F__)
struct Inlined {
  [[gnu::always_inline]] static SinCos<double> sincos(VectorF64 v) {
    const auto both = nlsq::avx512::sincos(v);
    return {both.sine, both.cosine};
  }
  [[gnu::always_inline]] static SinCos<float> sincos(VectorF32 v) {
    const auto both = nlsq::avx512::sincos(v);
    return {both.sine, both.cosine};
  }
  [[gnu::always_inline]] static VectorF64 exp(VectorF64 v) { return nlsq::avx512::exp(v); }
  [[gnu::always_inline]] static VectorF32 exp(VectorF32 v) { return nlsq::avx512::exp(v); }
  // For positive numbers.
  [[gnu::always_inline]] static LogPow<double> log_pow(VectorF64 v, VectorF64 w) {
    const auto parts = nlsq::avx512::log_parts(v);
    return {nlsq::avx512::log(parts), nlsq::avx512::pow(parts, w)};
  }
  [[gnu::always_inline]] static LogPow<float> log_pow(VectorF32 v, VectorF32 w) {
    const auto parts = nlsq::avx512::log_parts(v);
    return {nlsq::avx512::log(parts), nlsq::avx512::pow(parts, w)};
  }
};
#endif

}  // namespace
}  // namespace bench
