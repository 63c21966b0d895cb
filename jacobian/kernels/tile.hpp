// Defines a tile of a program, its operands, and the loop over its rows. The interpreter's steps use it.
#pragma once

#include "kernels/simd.hpp"

#include "kernels/kernel_table.hpp"

namespace nlsq::inline v0 {
namespace {

template <class T>
struct Tile {
  T* const* vectors;
  const T* uniforms;
  std::size_t rows;  // the true number of rows
  // This is 1, or the number of lanes. Uniform u of lane l is uniforms[u * per_uniform + l].
  std::size_t per_uniform;

  NLSQ_INLINE typename Simd<T>::V uniform(std::int32_t operand) const {
    return per_uniform == 1 ? Simd<T>::set(uniforms[~operand])
                            : Simd<T>::load(uniforms + static_cast<std::size_t>(~operand) * per_uniform);
  }
};

// Runs one step on rows [row, row + count) of a tile; count is a multiple of the lanes.
template <class T>
using StepFunction = void (*)(const Tile<T>& tile, const KernelStep& step, std::size_t row,
                              std::size_t count);

// Reads an operand of a step. A vector is loaded; a uniform (one number, or one for each lane) stays in a
// register.
template <class T>
struct FromVector {
  const T* base;
  NLSQ_INLINE FromVector(const Tile<T>& t, std::int32_t operand, std::size_t row)
      : base(t.vectors[operand] + row) {}
  NLSQ_INLINE typename Simd<T>::V operator()(std::size_t i) const { return Simd<T>::load(base + i); }
};
template <class T>
struct FromUniform {
  typename Simd<T>::V value;
  NLSQ_INLINE FromUniform(const Tile<T>& t, std::int32_t operand, std::size_t) : value(t.uniform(operand)) {}
  NLSQ_INLINE typename Simd<T>::V operator()(std::size_t) const { return value; }
};

// This is an operand that is a column or one number. The constructor determines which.
template <class T>
struct FromEither {
  alignas(64) T uniform[Simd<T>::lanes];
  const T* base;
  std::size_t mask;  // all ones for a column; 0 for one number, so that every i reads the same place
  NLSQ_INLINE FromEither(const Tile<T>& t, std::int32_t operand, std::size_t row) : base(uniform), mask(0) {
    if (operand < 0) Simd<T>::store(t.uniform(operand), uniform);
    else base = t.vectors[operand] + row, mask = ~std::size_t{0};
  }
  FromEither(const FromEither&) = delete;  // base may point into the object
  NLSQ_INLINE typename Simd<T>::V operator()(std::size_t i) const { return Simd<T>::load(base + (i & mask)); }
};

// Sets dst[i] = f(i). The destination may be one of the operands.
template <class T, class F>
NLSQ_INLINE void map(T* dst, std::size_t count, F f) {
  constexpr std::size_t lanes = Simd<T>::lanes;
#pragma GCC unroll 2
  for (std::size_t i = 0; i < count; i += lanes) Simd<T>::store(f(i), dst + i);
}

// These are the steps of an operation F that takes a few instructions. They are compiled for each kind of
// operands.
template <class T, class F, template <class> class A>
void step_of_one(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const A<T> a(t, s.operands[0], row);
  map(t.vectors[s.dst] + row, count, [&](std::size_t i) NLSQ_INLINE_LAMBDA { return F{}(a(i)); });
}
template <class T, class F, template <class> class A, template <class> class B>
void step_of_two(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const A<T> a(t, s.operands[0], row);
  const B<T> b(t, s.operands[1], row);
  map(t.vectors[s.dst] + row, count, [&](std::size_t i) NLSQ_INLINE_LAMBDA { return F{}(a(i), b(i)); });
}
template <class T, class F, template <class> class A, template <class> class B, template <class> class C>
void step_of_three(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const A<T> a(t, s.operands[0], row);
  const B<T> b(t, s.operands[1], row);
  const C<T> c(t, s.operands[2], row);
  map(t.vectors[s.dst] + row, count, [&](std::size_t i) NLSQ_INLINE_LAMBDA { return F{}(a(i), b(i), c(i)); });
}

// These are the steps of a function F of many instructions. They are compiled once for all kinds of operands
// and for one vector at a time. This is no slower, and such functions take most of the compile time of a
// kernel set.
template <class T, class F>
void long_step_of_one(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const FromEither<T> a(t, s.operands[0], row);
  T* dst = t.vectors[s.dst] + row;
  for (std::size_t i = 0; i < count; i += Simd<T>::lanes) Simd<T>::store(F{}(a(i)), dst + i);
}
template <class T, class F>
void long_step_of_two(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const FromEither<T> a(t, s.operands[0], row), b(t, s.operands[1], row);
  T* dst = t.vectors[s.dst] + row;
  for (std::size_t i = 0; i < count; i += Simd<T>::lanes) Simd<T>::store(F{}(a(i), b(i)), dst + i);
}
template <class T, class F>
StepFunction<T> long_unary(F) {
  return long_step_of_one<T, F>;
}
template <class T, class F>
StepFunction<T> long_binary(F) {
  return long_step_of_two<T, F>;
}

template <class T, class F>
StepFunction<T> unary(const Instruction& in, F) {
  return in.a >= 0 ? step_of_one<T, F, FromVector> : step_of_one<T, F, FromUniform>;
}

template <class T, class F>
StepFunction<T> binary(const Instruction& in, F) {
  if (in.a >= 0)
    return in.b >= 0 ? step_of_two<T, F, FromVector, FromVector> : step_of_two<T, F, FromVector, FromUniform>;
  return in.b >= 0 ? step_of_two<T, F, FromUniform, FromVector> : step_of_two<T, F, FromUniform, FromUniform>;
}

template <class T, class F, template <class> class A, template <class> class B>
StepFunction<T> ternary_with(const Instruction& in) {
  return in.c >= 0 ? step_of_three<T, F, A, B, FromVector> : step_of_three<T, F, A, B, FromUniform>;
}
template <class T, class F>
StepFunction<T> ternary(const Instruction& in, F) {
  if (in.a >= 0)
    return in.b >= 0 ? ternary_with<T, F, FromVector, FromVector>(in)
                     : ternary_with<T, F, FromVector, FromUniform>(in);
  return in.b >= 0 ? ternary_with<T, F, FromUniform, FromVector>(in)
                   : ternary_with<T, F, FromUniform, FromUniform>(in);
}

}  // namespace
}  // namespace nlsq::inline v0
