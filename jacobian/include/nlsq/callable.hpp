// A user's callable f(x, p), type-erased: the same code called with double, with the recording
// scalar, and with dual numbers. Headers stay light: templates end here.
//
// All scalars of one call have one type T. x is a T (one predictor) or a std::span<const T>; p is a
// std::span<const T>, or a const std::vector<T>& or const T* where the callable takes no span.
// - generic in its scalar: recorded, with dual numbers to fall back on;
// - generic in p alone (double x): dual numbers;
// - double only, or with a double written as its result: finite differences;
// - no_trace<F>, or wrapped in nlsq::untraced(f): dual numbers.
#pragma once

#include <nlsq/dual.hpp>
#include <nlsq/export.hpp>
#include <nlsq/traced.hpp>
#include <nlsq/where.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Specialise to true for a functor that must not be recorded (it keeps state, or looks inside its scalar).
template <class F>
inline constexpr bool no_trace = false;

// The same for one object: nlsq::curve_fit(nlsq::untraced([](auto x, auto p) { ... }), ...).
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

inline constexpr int kDualWidth = 8;  // derivatives carried by one call; more parameters take more calls
using Dual8 = Dual<double, kDualWidth>;

// A scalar-valued model of `predictors` numbers and some parameters. Empty functions are ways the
// callable does not offer. `x` points at `predictors` numbers.
struct ModelFunction {
  int predictors = 1;
  std::function<double(const double* x, std::span<const double> p)> value;
  std::function<Traced(const Traced* x, std::span<const Traced> p)> trace;  // null: do not record
  std::function<Dual8(const double* x, std::span<const Dual8> p)> dual;     // null: not generic
  bool concurrent = true;  // false: calls must not overlap (the callable's operator() is not const)
};

// A vector of residuals as a function of the parameters.
struct VectorFunction {
  std::function<std::vector<double>(std::span<const double> p)> value;
  std::function<std::vector<Traced>(std::span<const Traced> p)> trace;
  std::function<std::vector<Dual8>(std::span<const Dual8> p)> dual;
  bool concurrent = true;
};

}  // namespace nlsq::inline v0

#include <nlsq/callable_forms.hpp>

namespace nlsq::inline v0 {

// One predictor: f(x, p) with x a number. The callable is copied, and its copies share its state.
template <class F>
ModelFunction make_model_function(F f) {
  return detail::erase_model<detail::NumberX>(std::move(f), 1);
}

// Several predictors (or one): f(x, p) with x indexable, x[0] ... x[predictors - 1].
template <class F>
ModelFunction make_model_function(F f, int predictors) {
  return detail::erase_model<detail::IndexedX>(std::move(f), predictors);
}

// Residuals f(p): std::vector<T>, or any range of T.
template <class F>
VectorFunction make_vector_function(F f) {
  return detail::erase_vector(std::move(f));
}

}  // namespace nlsq::inline v0
