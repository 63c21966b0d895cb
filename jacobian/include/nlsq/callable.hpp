// A user's callable f(x, p), type-erased: the same code called with double, with the recording
// scalar, and with dual numbers. Headers stay light: templates end here.
#pragma once

#include <nlsq/dual.hpp>
#include <nlsq/export.hpp>
#include <nlsq/traced.hpp>

#include <functional>
#include <span>
#include <type_traits>
#include <vector>

namespace nlsq::inline v0 {

// Specialise to true for a functor that must not be recorded (it keeps state, or looks inside its scalar).
template <class F>
inline constexpr bool no_trace = false;

inline constexpr int kDualWidth = 8;  // derivatives carried by one call; more parameters take more calls
using Dual8 = Dual<double, kDualWidth>;

// A scalar-valued model of `predictors` numbers and some parameters.
struct ModelFunction {
  int predictors = 1;
  std::function<double(const double* x, std::span<const double> p)> value;
  std::function<Traced(const Traced* x, std::span<const Traced> p)> trace;  // null: do not record
  std::function<Dual8(const double* x, std::span<const Dual8> p)> dual;     // null: not generic
};

// A vector of residuals as a function of the parameters.
struct VectorFunction {
  std::function<std::vector<double>(std::span<const double> p)> value;
  std::function<std::vector<Traced>(std::span<const Traced> p)> trace;
  std::function<std::vector<Dual8>(std::span<const Dual8> p)> dual;
};

}  // namespace nlsq::inline v0
