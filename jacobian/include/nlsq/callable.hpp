// Declares the type-erased form of a user's callable f(x, p). The library calls the same code with double,
// with the recording scalar and with dual numbers. User code creates it. The rest of the library contains no
// template for it.
//
//  All scalars of one call have one type T. x is a T (one predictor) or a std::span<const T>. p is a
//  std::span<const T>, or a const std::vector<T>& or const T* if the callable does not take a span.
//  How derivatives are computed depends on the callable:
//  - generic in its scalar: recorded; dual numbers are the fallback;
//  - generic in p alone (double x): dual numbers;
//  - double only, or with the declared result type double: finite differences;
//  - no_trace<F>, or wrapped in nlsq::untraced(f): dual numbers.
#pragma once

#include <nlsq/dual.hpp>
#include <nlsq/export.hpp>
#include <nlsq/std_functions.hpp>
#include <nlsq/traced.hpp>
#include <nlsq/where.hpp>

#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Users may specialize this to true for a functor that must not be recorded, because it keeps state or
// inspects its scalar.
template <class F>
inline constexpr bool no_trace = false;

// Disables recording for one object: nlsq::curve_fit(nlsq::untraced([](auto x, auto p) { ... }), ...).
template <class F>
struct Untraced {
  F f;
  template <class... A>
  requires std::is_invocable_v<const F&, A...>
  decltype(auto) operator()(A&&... a) const { return f(std::forward<A>(a)...); }
};
template <class F>
inline constexpr bool no_trace<Untraced<F>> = true;
template <class F>
Untraced<F> untraced(F f) {
  return {std::move(f)};
}

inline constexpr int kDualWidth = 8;  // derivatives computed by one call; more parameters need more calls
using Dual8 = Dual<double, kDualWidth>;

// This is a model with a scalar value, a function of `predictors` numbers and some parameters. `x` points at
// `predictors` numbers. A member function that is empty is not offered by the callable.
struct ModelFunction {
  int predictors = 1;
  std::function<double(const double* x, std::span<const double> p)> value;
  std::function<Traced(const Traced* x, std::span<const Traced> p)> trace;  // null: do not record
  std::function<Dual8(const double* x, std::span<const Dual8> p)> dual;     // null: not generic
  bool concurrent = true;  // false: calls must not overlap (the callable's operator() is not const)
};

// This is a vector of residuals as a function of the parameters.
struct VectorFunction {
  std::function<std::vector<double>(std::span<const double> p)> value;
  std::function<std::vector<Traced>(std::span<const Traced> p)> trace;
  std::function<std::vector<Dual8>(std::span<const Dual8> p)> dual;
  bool concurrent = true;
};

}  // namespace nlsq::inline v0

#include <nlsq/callable_forms.hpp>

namespace nlsq::inline v0 {

// Makes a model of one predictor from f(x, p), where x is a number. The callable is copied, and all copies
// share its state.
template <class F>
ModelFunction make_model_function(F f) {
  return detail::erase_model<detail::NumberX>(std::move(f), 1);
}

// Makes a model of one or more predictors from f(x, p), where x is indexable: x[0] ... x[predictors - 1].
template <class F>
ModelFunction make_model_function(F f, int predictors) {
  return detail::erase_model<detail::IndexedX>(std::move(f), predictors);
}

// Makes a vector function from f(p), which returns residuals as std::vector<T> or any range of T.
template <class F>
VectorFunction make_vector_function(F f) {
  return detail::erase_vector(std::move(f));
}

}  // namespace nlsq::inline v0
