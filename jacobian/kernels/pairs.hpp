// Two instructions as one loop, where the first result is used by the second alone and overwritten by
// it: a store and a load less. The operations and their roundings are the same as one by one.
#pragma once

#include "elementary.hpp"
#include "tile.hpp"

namespace nlsq::inline v0 {
namespace {

#define NLSQ_INLINE_LAMBDA __attribute__((always_inline))

// f(g), g(row) the result of `in`; false where `in` is not one of those that start a pair.
template <class T, class F>
NLSQ_INLINE bool with_result(const Tile<T>& t, const Instruction& in, F f) {
  using S = Simd<T>;
  const bool commutes = in.op != Op::sub;
  const std::int32_t first = commutes && in.a < 0 ? in.b : in.a, second = commutes && in.a < 0 ? in.a : in.b;
  if (first < 0 && second < 0) return false;
  switch (in.op) {
    case Op::mul:
      with_operand(t, second, [&](auto b) {
        f([a = FromVector<T>{t.vectors[first]}, b](std::size_t i) NLSQ_INLINE_LAMBDA { return S::mul(a(i), b(i)); });
      });
      return true;
    case Op::add:
      with_operand(t, second, [&](auto b) {
        f([a = FromVector<T>{t.vectors[first]}, b](std::size_t i) NLSQ_INLINE_LAMBDA { return S::add(a(i), b(i)); });
      });
      return true;
    case Op::sub:
      with_operand(t, first, [&](auto a) {
        with_operand(t, second, [&](auto b) {
          f([a, b](std::size_t i) NLSQ_INLINE_LAMBDA { return S::sub(a(i), b(i)); });
        });
      });
      return true;
    case Op::fma:
      with_operand(t, second, [&](auto b) {
        with_operand(t, in.c, [&](auto c) {
          f([a = FromVector<T>{t.vectors[first]}, b, c](std::size_t i) NLSQ_INLINE_LAMBDA {
            return S::mul_add(a(i), b(i), c(i));
          });
        });
      });
      return true;
    default: return false;
  }
}

template <class T>
bool run_pair(const Tile<T>& t, const Instruction& one, const Instruction& two) {
  using S = Simd<T>;
  using V = typename S::V;
  const std::int32_t d = one.dst;
  if (two.dst != d || (two.a != d && two.b != d)) return false;
  T* dst = t.vectors[d];
  const std::size_t rows = t.padded_rows;
  const std::int32_t other = two.a == d ? two.b : two.a;
  switch (two.op) {
    case Op::exp:
      if (two.a != d) return false;
      return with_result(t, one, [&](auto g) { map(dst, rows, [](V a) { return elementary::exp(a); }, g); });
    case Op::mul:
      if (other == d)
        return with_result(t, one, [&](auto g) { map(dst, rows, [](V a) { return S::mul(a, a); }, g); });
      return with_result(t, one, [&](auto g) {
        with_operand(t, other, [&](auto b) { map(dst, rows, [](V a, V b) { return S::mul(a, b); }, g, b); });
      });
    case Op::add:
      if (other == d) return false;
      return with_result(t, one, [&](auto g) {
        with_operand(t, other, [&](auto b) { map(dst, rows, [](V a, V b) { return S::add(a, b); }, g, b); });
      });
    case Op::sub:
      if (other == d) return false;
      return with_result(t, one, [&](auto g) {
        with_operand(t, other, [&](auto b) {
          if (two.a == d) map(dst, rows, [](V a, V b) { return S::sub(a, b); }, g, b);
          else map(dst, rows, [](V a, V b) { return S::sub(b, a); }, g, b);
        });
      });
    default: return false;
  }
}

}  // namespace
}  // namespace nlsq::inline v0
