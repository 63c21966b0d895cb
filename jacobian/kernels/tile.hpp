// A tile of a program, its operands, and the loop over its rows.
#pragma once

#include "simd.hpp"

#include <nlsq/kernel_table.hpp>

namespace nlsq::inline v0 {
namespace {

template <class T>
struct Tile {
  T* const* vectors;
  const T* uniforms;
  std::size_t rows;         // the true count
  std::size_t padded_rows;  // rounded up to whole vectors
};

// An operand of an instruction: a vector is loaded, a uniform is already in a register.
template <class T>
struct FromVector {
  const T* base;
  NLSQ_INLINE typename Simd<T>::V operator()(std::size_t row) const { return Simd<T>::load(base + row); }
};
template <class T>
struct FromUniform {
  typename Simd<T>::V value;
  NLSQ_INLINE typename Simd<T>::V operator()(std::size_t) const { return value; }
};

template <class T, class F>
NLSQ_INLINE void with_operand(const Tile<T>& tile, std::int32_t operand, F f) {
  if (operand >= 0) f(FromVector<T>{tile.vectors[operand]});
  else f(FromUniform<T>{Simd<T>::set(tile.uniforms[~operand])});
}

// dst[row] = f(a(row), ...), two vectors at a time. A destination may be one of the operands.
template <class T, class F, class... A>
NLSQ_NOINLINE void map(T* dst, std::size_t padded_rows, F f, A... a) {
  constexpr std::size_t lanes = Simd<T>::lanes;
  std::size_t row = 0;
  for (; row + 2 * lanes <= padded_rows; row += 2 * lanes) {
    const auto first = f(a(row)...);
    const auto second = f(a(row + lanes)...);
    Simd<T>::store(first, dst + row);
    Simd<T>::store(second, dst + row + lanes);
  }
  if (row < padded_rows) Simd<T>::store(f(a(row)...), dst + row);
}

template <class T, class F>
NLSQ_INLINE void unary(const Tile<T>& t, const Instruction& in, F f) {
  with_operand(t, in.a, [&](auto a) { map(t.vectors[in.dst], t.padded_rows, f, a); });
}

template <class T, class F>
NLSQ_INLINE void binary(const Tile<T>& t, const Instruction& in, F f) {
  with_operand(t, in.a, [&](auto a) {
    with_operand(t, in.b, [&](auto b) { map(t.vectors[in.dst], t.padded_rows, f, a, b); });
  });
}

template <class T, class F>
NLSQ_INLINE void ternary(const Tile<T>& t, const Instruction& in, F f) {
  with_operand(t, in.a, [&](auto a) {
    with_operand(t, in.b, [&](auto b) {
      with_operand(t, in.c, [&](auto c) { map(t.vectors[in.dst], t.padded_rows, f, a, b, c); });
    });
  });
}

}  // namespace
}  // namespace nlsq::inline v0
