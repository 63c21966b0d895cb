// Runs two instructions as one step if only the second uses the first result and overwrites it. This saves a
// store and a load. The operations and roundings stay the same.
#pragma once

#include "kernels/functions/elementary.hpp"
#include "kernels/tile.hpp"

namespace nlsq::inline v0 {
namespace {

// Computes the first instruction of a pair, compiled for the kinds of its operands. Returns vector i of its
// result.
template <class T, class F, template <class> class A, template <class> class B>
struct FirstOfTwo {
  static constexpr int operands = 2;
  A<T> a;
  B<T> b;
  NLSQ_INLINE FirstOfTwo(const Tile<T>& t, const KernelStep& s, std::size_t row)
      : a(t, s.operands[0], row), b(t, s.operands[1], row) {}
  NLSQ_INLINE typename Simd<T>::V operator()(std::size_t i) const { return F{}(a(i), b(i)); }
};
template <class T, class F, template <class> class A, template <class> class B, template <class> class C>
struct FirstOfThree {
  static constexpr int operands = 3;
  A<T> a;
  B<T> b;
  C<T> c;
  NLSQ_INLINE FirstOfThree(const Tile<T>& t, const KernelStep& s, std::size_t row)
      : a(t, s.operands[0], row), b(t, s.operands[1], row), c(t, s.operands[2], row) {}
  NLSQ_INLINE typename Simd<T>::V operator()(std::size_t i) const { return F{}(a(i), b(i), c(i)); }
};

// Applies the second operation to the first result d, or to d and one more operand.
template <class T, class G, class F>
void pair_of_one(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const G g(t, s, row);
  map(t.vectors[s.dst] + row, count, [&](std::size_t i) NLSQ_INLINE_LAMBDA { return F{}(g(i)); });
}
template <class T, class G, class F, template <class> class B>
void pair_of_two(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const G g(t, s, row);
  const B<T> b(t, s.operands[3], row);
  map(t.vectors[s.dst] + row, count, [&](std::size_t i) NLSQ_INLINE_LAMBDA { return F{}(g(i), b(i)); });
}

// Returns the step for G followed by `two`, whose other operand is `other`, or null if they are not a pair.
template <class T, class G>
StepFunction<T> with_second(const Instruction& two, std::int32_t other) {
  using S = Simd<T>;
  using V = typename S::V;
  const bool squared = other == two.dst;
  const auto of_one = [](auto f) { return StepFunction<T>(pair_of_one<T, G, decltype(f)>); };
  const auto of_two = [other](auto f) {
    using F = decltype(f);
    return StepFunction<T>(other >= 0 ? pair_of_two<T, G, F, FromVector> : pair_of_two<T, G, F, FromUniform>);
  };
  switch (two.op) {
    case Op::exp: return of_one([](V d) NLSQ_INLINE_LAMBDA { return elementary::exp(d); });
    case Op::mul:
      if (squared) return of_one([](V d) NLSQ_INLINE_LAMBDA { return S::mul(d, d); });
      return of_two([](V d, V b) NLSQ_INLINE_LAMBDA { return S::mul(d, b); });
    case Op::add:
      if (squared) return nullptr;
      return of_two([](V d, V b) NLSQ_INLINE_LAMBDA { return S::add(d, b); });
    case Op::sub:
      if (squared) return nullptr;
      if (two.a == two.dst) return of_two([](V d, V b) NLSQ_INLINE_LAMBDA { return S::sub(d, b); });
      return of_two([](V d, V b) NLSQ_INLINE_LAMBDA { return S::sub(b, d); });
    case Op::div:
      if (squared) return nullptr;
      if (two.a == two.dst) return of_two([](V d, V b) NLSQ_INLINE_LAMBDA { return S::div(d, b); });
      return of_two([](V d, V b) NLSQ_INLINE_LAMBDA { return S::div(b, d); });
    default: return nullptr;
  }
}

template <class T, class F>
StepFunction<T> commuting_first(std::int32_t b, const Instruction& two, std::int32_t other, F) {
  return b >= 0 ? with_second<T, FirstOfTwo<T, F, FromVector, FromVector>>(two, other)
                : with_second<T, FirstOfTwo<T, F, FromVector, FromUniform>>(two, other);
}
template <class T, class F, template <class> class B>
StepFunction<T> fused_first(std::int32_t c, const Instruction& two, std::int32_t other) {
  return c >= 0 ? with_second<T, FirstOfThree<T, F, FromVector, B, FromVector>>(two, other)
                : with_second<T, FirstOfThree<T, F, FromVector, B, FromUniform>>(two, other);
}

// Combines two instructions into one step. Returns false if they are not a pair.
template <class T>
bool select_pair(const Instruction& one, const Instruction& two, KernelStep& step) {
  using S = Simd<T>;
  using V = typename S::V;
  const std::int32_t d = one.dst;
  if (two.dst != d || (two.a != d && two.b != d) || arity(two.op) > 2) return false;
  if (arity(two.op) == 1 && two.a != d) return false;
  std::int32_t a = one.a, b = one.b;
  if (a < 0 && b < 0) return false;
  if (a < 0 && one.op != Op::sub) a = one.b, b = one.a;
  const std::int32_t other = two.a == d ? two.b : two.a;
  StepFunction<T> function = nullptr;
  switch (one.op) {
    case Op::mul:
      function = commuting_first<T>(b, two, other, [](V x, V y) NLSQ_INLINE_LAMBDA { return S::mul(x, y); });
      break;
    case Op::add:
      function = commuting_first<T>(b, two, other, [](V x, V y) NLSQ_INLINE_LAMBDA { return S::add(x, y); });
      break;
    case Op::sub: {
      auto sub = [](V x, V y) NLSQ_INLINE_LAMBDA { return S::sub(x, y); };
      using F = decltype(sub);
      if (a < 0) function = with_second<T, FirstOfTwo<T, F, FromUniform, FromVector>>(two, other);
      else if (b < 0) function = with_second<T, FirstOfTwo<T, F, FromVector, FromUniform>>(two, other);
      else function = with_second<T, FirstOfTwo<T, F, FromVector, FromVector>>(two, other);
      break;
    }
    case Op::fma: {
      auto fma = [](V x, V y, V z) NLSQ_INLINE_LAMBDA { return S::mul_add(x, y, z); };
      using F = decltype(fma);
      function = b >= 0 ? fused_first<T, F, FromVector>(one.c, two, other)
                        : fused_first<T, F, FromUniform>(one.c, two, other);
      break;
    }
    default: return false;
  }
  if (function == nullptr) return false;
  step = {reinterpret_cast<void (*)()>(function), d, {a, b, one.c, other}, two.op};
  return true;
}

#if !defined(NLSQ_KERNEL_SET_baseline)
// Computes sin and cos of one vector. The second result goes to vector operands[1]. operands[2] is true if it
// is the sine.
template <class T>
void sine_and_cosine(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const T* from = t.vectors[s.operands[0]] + row;
  T* sine = t.vectors[s.operands[2] != 0 ? s.operands[1] : s.dst] + row;
  T* cosine = t.vectors[s.operands[2] != 0 ? s.dst : s.operands[1]] + row;
  for (std::size_t i = 0; i < count; i += Simd<T>::lanes) {
    const auto both = elementary::sincos(Simd<T>::load(from + i));
    Simd<T>::store(both.sine, sine + i);
    Simd<T>::store(both.cosine, cosine + i);
  }
}
template <class T>
bool select_sine_and_cosine(const Instruction& one, const Instruction& two, KernelStep& step) {
  const bool both = (one.op == Op::sin && two.op == Op::cos) || (one.op == Op::cos && two.op == Op::sin);
  if (!both || one.a != two.a || one.a < 0 || one.dst == one.a || one.dst == two.dst) return false;
  step = {reinterpret_cast<void (*)()>(StepFunction<T>(sine_and_cosine<T>)),
          one.dst,
          {one.a, two.dst, two.op == Op::sin, 0},
          one.op};
  return true;
}

// Computes the log of a vector and its power to B, in either order. dst is the vector of the first result and
// operands[2] that of the second. operands[3] is true if the first is the logarithm.
template <class T>
void log_and_pow(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const T* from = t.vectors[s.operands[0]] + row;
  const FromEither<T> exponent(t, s.operands[1], row);
  T* logarithm = t.vectors[s.operands[3] != 0 ? s.dst : s.operands[2]] + row;
  T* power = t.vectors[s.operands[3] != 0 ? s.operands[2] : s.dst] + row;
  for (std::size_t i = 0; i < count; i += Simd<T>::lanes) {
    const auto both = elementary::log_pow(Simd<T>::load(from + i), exponent(i));
    Simd<T>::store(both.logarithm, logarithm + i);
    Simd<T>::store(both.power, power + i);
  }
}
template <class T>
bool select_log_and_pow(const Instruction& one, const Instruction& two, KernelStep& step) {
  const bool both = (one.op == Op::log && two.op == Op::pow) || (one.op == Op::pow && two.op == Op::log);
  if (!both || one.a != two.a || one.a < 0 || one.dst == one.a || one.dst == two.dst) return false;
  const std::int32_t exponent = one.op == Op::pow ? one.b : two.b;
  if (two.op == Op::pow && exponent == one.dst) return false;  // x to the power of its own logarithm
  step = {reinterpret_cast<void (*)()>(StepFunction<T>(log_and_pow<T>)),
          one.dst,
          {one.a, exponent, two.dst, one.op == Op::log},
          one.op};
  return true;
}
#else
template <class T>
bool select_log_and_pow(const Instruction&, const Instruction&, KernelStep&) {
  return false;
}
template <class T>
bool select_sine_and_cosine(const Instruction&, const Instruction&, KernelStep&) {
  return false;
}
#endif

}  // namespace
}  // namespace nlsq::inline v0
