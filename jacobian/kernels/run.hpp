// The interpreter of tile programs: one tight loop over the tile per instruction, or per pair of them.
#pragma once

#include "elementary.hpp"
#include "pairs.hpp"
#include "tile.hpp"
#if !defined(NLSQ_KERNEL_SET_baseline)
#include "special_vector.hpp"
#endif

#include <nlsq/kernel_table.hpp>

namespace nlsq::inline v0 {
namespace {

// Functions without a vector form (SLEEF's fmod fails at large quotients): lane by lane in double.
template <class T>
NLSQ_NOINLINE void by_lanes(const Tile<T>& t, const Instruction& in) {
  const bool a_moves = in.a >= 0, b_moves = in.b >= 0;
  const T* a = a_moves ? t.vectors[in.a] : t.uniforms + ~in.a;
  const T* b = b_moves ? t.vectors[in.b] : t.uniforms + ~in.b;
  const bool two = arity(in.op) == 2;
  T* dst = t.vectors[in.dst];
  for (std::size_t row = 0; row < t.rows; ++row) {
    const double x = static_cast<double>(a[a_moves ? row : 0]);
    const double y = two ? static_cast<double>(b[b_moves ? row : 0]) : 0;
    dst[row] = static_cast<T>(evaluate_op(in.op, x, y));
  }
}

#if !defined(NLSQ_KERNEL_SET_baseline)
// Functions with a vector form in double only.
NLSQ_INLINE V64 load_double(const double* p) { return Simd<double>::load(p); }
NLSQ_INLINE V64 load_double(const float* p) { return Simd<double>::load_widened(p); }
NLSQ_INLINE void store_double(V64 v, double* p) { Simd<double>::store(v, p); }
NLSQ_INLINE void store_double(V64 v, float* p) { Simd<double>::store_narrowed(v, p); }

template <class T, class F>
NLSQ_NOINLINE void unary_in_double(const Tile<T>& t, const Instruction& in, F f) {
  T* dst = t.vectors[in.dst];
  const V64 uniform = Simd<double>::set(in.a < 0 ? static_cast<double>(t.uniforms[~in.a]) : 0.0);
  for (std::size_t row = 0; row < t.padded_rows; row += Simd<double>::lanes)
    store_double(f(in.a < 0 ? uniform : load_double(t.vectors[in.a] + row)), dst + row);
}

// Re w or Im w; vectors with a lane where the vector form does not hold go lane by lane.
template <class T, class Part>
NLSQ_NOINLINE void faddeeva_part(const Tile<T>& t, const Instruction& in, Part part) {
  using S = Simd<double>;
  T* dst = t.vectors[in.dst];
  const V64 uniform_a = S::set(in.a < 0 ? static_cast<double>(t.uniforms[~in.a]) : 0.0);
  const V64 uniform_b = S::set(in.b < 0 ? static_cast<double>(t.uniforms[~in.b]) : 0.0);
  for (std::size_t row = 0; row < t.padded_rows; row += S::lanes) {
    const V64 x = in.a < 0 ? uniform_a : load_double(t.vectors[in.a] + row);
    const V64 y = in.b < 0 ? uniform_b : load_double(t.vectors[in.b] + row);
    if (special::in_upper_half(x, y)) [[likely]] {
      store_double(part(special::wofz(x, y)), dst + row);
      continue;
    }
    alignas(64) double xs[S::lanes], ys[S::lanes];
    S::store(x, xs);
    S::store(y, ys);
    for (std::size_t i = 0; i < S::lanes; ++i) xs[i] = evaluate_op(in.op, xs[i], ys[i]);
    store_double(S::load(xs), dst + row);
  }
}

template <class T>
void run_special(const Tile<T>& t, const Instruction& in) {
  switch (in.op) {
    case Op::erfcx: return unary_in_double(t, in, [](V64 a) { return special::erfcx(a); });
    case Op::wofz_re: return faddeeva_part(t, in, [](special::Parts w) { return w.re; });
    case Op::wofz_im: return faddeeva_part(t, in, [](special::Parts w) { return w.im; });
    default: return by_lanes(t, in);
  }
}
#else
template <class T>
void run_special(const Tile<T>& t, const Instruction& in) {
  by_lanes(t, in);
}
#endif

template <class T>
void run_arithmetic(const Tile<T>& t, const Instruction& in) {
  using S = Simd<T>;
  using V = typename S::V;
  switch (in.op) {
    case Op::add: return binary(t, in, [](V a, V b) { return S::add(a, b); });
    case Op::sub: return binary(t, in, [](V a, V b) { return S::sub(a, b); });
    case Op::mul: return binary(t, in, [](V a, V b) { return S::mul(a, b); });
    case Op::div: return binary(t, in, [](V a, V b) { return S::div(a, b); });
    case Op::neg: return unary(t, in, [](V a) { return S::neg(a); });
    case Op::fma: return ternary(t, in, [](V a, V b, V c) { return S::mul_add(a, b, c); });
    case Op::fms: return ternary(t, in, [](V a, V b, V c) { return S::mul_sub(a, b, c); });
    case Op::fnma: return ternary(t, in, [](V a, V b, V c) { return S::neg_mul_add(a, b, c); });
    case Op::copy: return unary(t, in, [](V a) { return a; });
    case Op::abs: return unary(t, in, [](V a) { return S::abs(a); });
    case Op::sqrt: return unary(t, in, [](V a) { return S::sqrt(a); });
    case Op::floor: return unary(t, in, [](V a) { return S::floor(a); });
    case Op::ceil: return unary(t, in, [](V a) { return S::ceil(a); });
    case Op::sign:
      return unary(t, in, [](V a) {
        const V zero = S::zero();
        const V negative = S::choose(S::less(a, zero), S::set(T(-1)), a);
        return S::choose(S::less(zero, a), S::set(T(1)), negative);
      });
    default: return;
  }
}

// Truth as a number; what counts as true (NaN too).
template <class T>
NLSQ_INLINE typename Simd<T>::V truth(typename Simd<T>::M m) {
  return Simd<T>::choose(m, Simd<T>::set(T(1)), Simd<T>::zero());
}
template <class T>
NLSQ_INLINE typename Simd<T>::M is_true(typename Simd<T>::V a) {
  return Simd<T>::mask_not(Simd<T>::equal(a, Simd<T>::zero()));
}
template <class T>
NLSQ_INLINE typename Simd<T>::M is_nan(typename Simd<T>::V a) {
  return Simd<T>::mask_not(Simd<T>::equal(a, a));
}

// min and max: the first argument where it is NaN or wins; else the second, NaN included.
template <class T>
void run_choice(const Tile<T>& t, const Instruction& in) {
  using S = Simd<T>;
  using V = typename S::V;
  switch (in.op) {
    case Op::min:
      return binary(t, in, [](V a, V b) { return S::choose(S::mask_or(is_nan<T>(a), S::less(a, b)), a, b); });
    case Op::max:
      return binary(t, in, [](V a, V b) { return S::choose(S::mask_or(is_nan<T>(a), S::less(b, a)), a, b); });
    case Op::less: return binary(t, in, [](V a, V b) { return truth<T>(S::less(a, b)); });
    case Op::less_equal: return binary(t, in, [](V a, V b) { return truth<T>(S::less_equal(a, b)); });
    case Op::equal: return binary(t, in, [](V a, V b) { return truth<T>(S::equal(a, b)); });
    case Op::not_equal:
      return binary(t, in, [](V a, V b) { return truth<T>(S::mask_not(S::equal(a, b))); });
    case Op::logical_and:
      return binary(t, in, [](V a, V b) { return truth<T>(S::mask_and(is_true<T>(a), is_true<T>(b))); });
    case Op::logical_or:
      return binary(t, in, [](V a, V b) { return truth<T>(S::mask_or(is_true<T>(a), is_true<T>(b))); });
    case Op::logical_not: return unary(t, in, [](V a) { return truth<T>(S::equal(a, S::zero())); });
    case Op::select: return ternary(t, in, [](V a, V b, V c) { return S::choose(is_true<T>(a), b, c); });
    default: return;
  }
}

template <class T>
void run_elementary(const Tile<T>& t, const Instruction& in) {
  using V = typename Simd<T>::V;
  namespace e = elementary;
  switch (in.op) {
    case Op::cbrt: return unary(t, in, [](V a) { return e::cbrt(a); });
    case Op::exp: return unary(t, in, [](V a) { return e::exp(a); });
    case Op::expm1: return unary(t, in, [](V a) { return e::expm1(a); });
    case Op::log: return unary(t, in, [](V a) { return e::log(a); });
    case Op::log10: return unary(t, in, [](V a) { return e::log10(a); });
    case Op::log2: return unary(t, in, [](V a) { return e::log2(a); });
    case Op::log1p: return unary(t, in, [](V a) { return e::log1p(a); });
    case Op::sin: return unary(t, in, [](V a) { return e::sin(a); });
    case Op::cos: return unary(t, in, [](V a) { return e::cos(a); });
    case Op::tan: return unary(t, in, [](V a) { return e::tan(a); });
    case Op::asin: return unary(t, in, [](V a) { return e::asin(a); });
    case Op::acos: return unary(t, in, [](V a) { return e::acos(a); });
    case Op::atan: return unary(t, in, [](V a) { return e::atan(a); });
    case Op::sinh: return unary(t, in, [](V a) { return e::sinh(a); });
    case Op::cosh: return unary(t, in, [](V a) { return e::cosh(a); });
    case Op::tanh: return unary(t, in, [](V a) { return e::tanh(a); });
    case Op::asinh: return unary(t, in, [](V a) { return e::asinh(a); });
    case Op::acosh: return unary(t, in, [](V a) { return e::acosh(a); });
    case Op::atanh: return unary(t, in, [](V a) { return e::atanh(a); });
    case Op::erf: return unary(t, in, [](V a) { return e::erf(a); });
    case Op::erfc: return unary(t, in, [](V a) { return e::erfc(a); });
    case Op::gamma: return unary(t, in, [](V a) { return e::gamma(a); });
    case Op::lgamma: return unary(t, in, [](V a) { return e::lgamma(a); });
    case Op::pow: return binary(t, in, [](V a, V b) { return e::pow(a, b); });
    case Op::hypot: return binary(t, in, [](V a, V b) { return e::hypot(a, b); });
    case Op::atan2: return binary(t, in, [](V a, V b) { return e::atan2(a, b); });
    default: return;
  }
}

template <class T>
void run_instruction(const Tile<T>& t, const Instruction& in) {
  switch (in.op) {
    case Op::constant: case Op::column: case Op::parameter: case Op::unexplored: return;  // leaves
    case Op::add: case Op::sub: case Op::mul: case Op::div: case Op::neg:
    case Op::fma: case Op::fms: case Op::fnma: case Op::copy:
    case Op::abs: case Op::sign: case Op::floor: case Op::ceil: case Op::sqrt:
      return run_arithmetic(t, in);
    case Op::min: case Op::max: case Op::less: case Op::less_equal: case Op::equal:
    case Op::not_equal: case Op::logical_and: case Op::logical_or: case Op::logical_not:
    case Op::select:
      return run_choice(t, in);
    case Op::fmod: case Op::erfcx: case Op::digamma: case Op::trigamma: case Op::besj0: case Op::besj1:
    case Op::wofz_re: case Op::wofz_im:
      return run_special(t, in);
    default: return run_elementary(t, in);
  }
}

template <class T>
void run(const Instruction* code, std::size_t instructions, T* const* vectors, const T* uniforms,
         std::size_t rows) {
  constexpr std::size_t lanes = Simd<T>::lanes;
  const Tile<T> tile{vectors, uniforms, rows, (rows + lanes - 1) / lanes * lanes};
  for (std::size_t i = 0; i < instructions; ++i) {
    if (i + 1 < instructions && run_pair(tile, code[i], code[i + 1])) ++i;
    else run_instruction(tile, code[i]);
  }
}

void run_f64(const Instruction* code, std::size_t instructions, double* const* vectors,
             const double* uniforms, std::size_t rows, KernelCounters* counters) {
  run(code, instructions, vectors, uniforms, rows);
  counters->rows_f64 += rows;
}

void run_f32(const Instruction* code, std::size_t instructions, float* const* vectors,
             const float* uniforms, std::size_t rows, KernelCounters* counters) {
  run(code, instructions, vectors, uniforms, rows);
  counters->rows_f32 += rows;
}

}  // namespace
}  // namespace nlsq::inline v0
