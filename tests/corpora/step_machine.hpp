// Runs a formula's steps on any floating-point type, with derivatives, by dual numbers on a stack. The oracle
// and the naive fits use it.
#pragma once

#include <nlsq/formula.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

namespace problems {

using nlsq::CompoundFunction;
using nlsq::Op;

// Returns true for functions that the C library has in every width.
inline bool known(const nlsq::FormulaStep& step) {
  if (step.compound == CompoundFunction::voigt || step.compound == CompoundFunction::mod) return false;
  switch (step.op) {
    case Op::erfcx:
    case Op::gamma:
    case Op::digamma:
    case Op::trigamma:
    case Op::besj0:
    case Op::besj1:
    case Op::lgamma:
    case Op::wofz_re:
    case Op::wofz_im:
    case Op::fmod: return false;
    default: return true;
  }
}

inline int operands_of(const nlsq::FormulaStep& step) {
  return step.compound != CompoundFunction::none ? 2 : arity(step.op);
}

// A policy says how values are stored. This one leaves them as computed.
struct AsComputed {
  template <class Real>
  static Real store(Real value) {
    return value;
  }
};

// Holds the values of one row on a stack, each followed by its n derivatives.
template <class Real, class Storage = AsComputed>
class Machine {
 public:
  Machine(const std::vector<nlsq::FormulaStep>& steps, std::size_t n)
      : steps_(steps), n_(n), stride_(n + 1), stack_((steps.size() + 1) * (n + 1)) {}

  // Returns the value, followed by the derivatives if requested.
  const Real* run(const double* x, std::size_t predictors, double response, const std::vector<Real>& p,
                  bool derivatives) {
    const std::size_t n = derivatives ? n_ : 0;
    Real* top = stack_.data();  // one past the last value
    for (const nlsq::FormulaStep& step : steps_) {
      const int count = operands_of(step);
      Real* a = top - count * static_cast<std::ptrdiff_t>(stride_);
      Real* b = a + stride_;
      Real* c = b + stride_;
      apply(step, a, b, c, n, x, predictors, response, p);
      for (std::size_t k = 0; k <= n; ++k) a[k] = Storage::store(a[k]);
      top = a + stride_;
    }
    return stack_.data();
  }

 private:
  void apply(const nlsq::FormulaStep& step, Real* a, const Real* b, const Real* c, std::size_t n,
             const double* x, std::size_t predictors, double response, const std::vector<Real>& p) {
    const auto leaf = [&](Real value) {
      a[0] = value;
      std::fill(a + 1, a + 1 + n, Real(0));
    };
    const auto one = [&](Real value, Real slope) {
      a[0] = value;
      for (std::size_t k = 1; k <= n; ++k) a[k] = a[k] == 0 ? Real(0) : a[k] * slope;
    };
    const auto two = [&](Real value, Real da, Real db) {
      a[0] = value;
      for (std::size_t k = 1; k <= n; ++k) {
        a[k] = (a[k] == 0 ? Real(0) : a[k] * da) + (b[k] == 0 ? Real(0) : b[k] * db);
      }
    };
    const Real u = a[0];
    const Real v = b[0];  // unused if the step takes one operand
    if (step.compound == CompoundFunction::greater) return leaf(Real(u > v));
    if (step.compound == CompoundFunction::greater_equal) return leaf(Real(u >= v));
    switch (step.op) {
      case Op::constant: return leaf(static_cast<Real>(step.value));
      case Op::column: return leaf(static_cast<Real>(step.index < predictors ? x[step.index] : response));
      case Op::parameter:
        leaf(p[step.index]);
        if (n > 0) a[1 + step.index] = 1;
        return;
      case Op::add: return two(u + v, 1, 1);
      case Op::sub: return two(u - v, 1, -1);
      case Op::mul: return two(u * v, v, u);
      case Op::div: return two(u / v, 1 / v, -u / v / v);
      case Op::neg: return one(-u, -1);
      case Op::abs: return one(std::fabs(u), Real(u < 0 ? -1 : 1));
      case Op::sign: return leaf(Real(u > 0 ? 1 : u < 0 ? -1 : 0));
      case Op::floor: return leaf(std::floor(u));
      case Op::ceil: return leaf(std::ceil(u));
      case Op::sqrt: return one(std::sqrt(u), Real(0.5) / std::sqrt(u));
      case Op::cbrt: return one(std::cbrt(u), 1 / (3 * std::cbrt(u) * std::cbrt(u)));
      case Op::exp: return one(std::exp(u), std::exp(u));
      case Op::expm1: return one(std::expm1(u), std::exp(u));
      case Op::log: return one(std::log(u), 1 / u);
      case Op::log10: return one(std::log10(u), 1 / (u * std::log(Real(10))));
      case Op::log2: return one(std::log2(u), 1 / (u * std::log(Real(2))));
      case Op::log1p: return one(std::log1p(u), 1 / (1 + u));
      case Op::sin: return one(std::sin(u), std::cos(u));
      case Op::cos: return one(std::cos(u), -std::sin(u));
      case Op::tan: return one(std::tan(u), 1 + std::tan(u) * std::tan(u));
      case Op::asin: return one(std::asin(u), 1 / std::sqrt(1 - u * u));
      case Op::acos: return one(std::acos(u), -1 / std::sqrt(1 - u * u));
      case Op::atan: return one(std::atan(u), 1 / (1 + u * u));
      case Op::sinh: return one(std::sinh(u), std::cosh(u));
      case Op::cosh: return one(std::cosh(u), std::sinh(u));
      case Op::tanh: return one(std::tanh(u), 1 - std::tanh(u) * std::tanh(u));
      case Op::asinh: return one(std::asinh(u), 1 / std::sqrt(u * u + 1));
      case Op::acosh: return one(std::acosh(u), 1 / std::sqrt(u * u - 1));
      case Op::atanh: return one(std::atanh(u), 1 / (1 - u * u));
      case Op::erf: return one(std::erf(u), 2 / std::sqrt(std::numbers::pi_v<Real>) * std::exp(-u * u));
      case Op::erfc: return one(std::erfc(u), -2 / std::sqrt(std::numbers::pi_v<Real>) * std::exp(-u * u));
      case Op::pow: {
        const Real w = std::pow(u, v);
        return two(w, v == 0 ? Real(0) : v * std::pow(u, v - 1), u == 0 ? Real(0) : w * std::log(u));
      }
      case Op::hypot: return two(std::hypot(u, v), u / std::hypot(u, v), v / std::hypot(u, v));
      case Op::atan2: return two(std::atan2(u, v), v / (u * u + v * v), -u / (u * u + v * v));
      case Op::min: return two(std::min(u, v), Real(u <= v), Real(v < u));
      case Op::max: return two(std::max(u, v), Real(u >= v), Real(v > u));
      case Op::less: return leaf(Real(u < v));
      case Op::less_equal: return leaf(Real(u <= v));
      case Op::equal: return leaf(Real(u == v));
      case Op::not_equal: return leaf(Real(u != v));
      case Op::logical_and: return leaf(Real(u != 0 && v != 0));
      case Op::logical_or: return leaf(Real(u != 0 || v != 0));
      case Op::logical_not: return leaf(Real(u == 0));
      case Op::select: {
        const Real* from = u != 0 ? b : c;
        for (std::size_t k = 0; k <= n; ++k) a[k] = from[k];
        return;
      }
      default: return leaf(std::numeric_limits<Real>::quiet_NaN());
    }
  }

  const std::vector<nlsq::FormulaStep>& steps_;
  std::size_t n_, stride_;
  std::vector<Real> stack_;
};

}  // namespace problems
