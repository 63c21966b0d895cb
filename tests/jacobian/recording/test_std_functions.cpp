// Tests std::exp and the like on the numbers with which a callable is recorded and differentiated. They must
// give the recording, the values and the derivatives of the functions that are found through their arguments.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace nlsq;

namespace {

// Both functions are called with a parameter and a plain number.
#define NLSQ_PAIR(name, full, found)                                                                         \
  struct name {                                                                                              \
    template <class T>                                                                                       \
    static T by_full_name(const T& a, [[maybe_unused]] double b) {                                           \
      return full;                                                                                           \
    }                                                                                                        \
    template <class T>                                                                                       \
    static T by_argument(const T& a, [[maybe_unused]] double b) {                                            \
      using std::abs, std::atan2, std::atanh, std::clamp, std::copysign, std::erfc, std::exp, std::fabs;     \
      using std::floor, std::fma, std::hypot, std::lgamma, std::log, std::max, std::min, std::pow, std::sin, \
          std::sqrt;                                                                                         \
      return found;                                                                                          \
    }                                                                                                        \
  };
NLSQ_PAIR(Exp, std::exp(a), exp(a))
NLSQ_PAIR(Log, std::log(a), log(a))
NLSQ_PAIR(Sqrt, std::sqrt(a), sqrt(a))
NLSQ_PAIR(Abs, std::abs(a), abs(a))
NLSQ_PAIR(Fabs, std::fabs(-a), fabs(-a))
NLSQ_PAIR(Sin, std::sin(a), sin(a))
NLSQ_PAIR(Atanh, std::atanh(a / 8), atanh(a / 8))
NLSQ_PAIR(Erfc, std::erfc(a), erfc(a))
NLSQ_PAIR(Lgamma, std::lgamma(a), lgamma(a))
NLSQ_PAIR(Pow, std::pow(a, b), pow(a, b))
NLSQ_PAIR(PowOfTwo, std::pow(2, a), pow(2, a))
NLSQ_PAIR(PowInt, std::pow(a, 3), pow(a, 3))
NLSQ_PAIR(PowSame, std::pow(a, a), pow(a, a))
NLSQ_PAIR(Atan2, std::atan2(b, a), atan2(b, a))
NLSQ_PAIR(Hypot, std::hypot(a, b), hypot(a, b))
NLSQ_PAIR(HypotOfThree, std::hypot(a, b, 2.0), hypot(a, b, 2.0))
NLSQ_PAIR(Max, std::max(a * 2, a + b), max(a * 2, a + b))
NLSQ_PAIR(MaxOfMixed, std::max(a, 0.0), max(a, 0.0))
NLSQ_PAIR(MinOfMixed, std::min(1.0, a), min(1.0, a))
NLSQ_PAIR(Clamp, std::clamp(a, 0.5, 1.5), clamp(a, 0.5, 1.5))
NLSQ_PAIR(Fma, std::fma(a, b, a), fma(a, b, a))
NLSQ_PAIR(Floor, std::floor(a) * a, floor(a) * a)
NLSQ_PAIR(Copysign, std::copysign(a, -1.0), copysign(a, -1.0))
#undef NLSQ_PAIR

template <class Pair>
void check(const char* name) {
  CAPTURE(name);
  const std::vector<double> x{0.25, 0.5, 1, 2, 3}, y{1, 2, 1, 3, 2};
  const auto full = [](const auto& t, const auto& p) {
    return p[0] * Pair::by_full_name(p[1] + t * 0, 0.7) + t * p[1];
  };
  const auto found = [](const auto& t, const auto& p) {
    return p[0] * Pair::by_argument(p[1] + t * 0, 0.7) + t * p[1];
  };
  const FitResult a = curve_fit(full, x, y, {1.0, 1.1}), b = curve_fit(found, x, y, {1.0, 1.1});
  CHECK(a.summary.evaluator == "graph");
  CHECK(a.parameters == b.parameters);
  const Dual8 at(1.1, 0), left = Pair::by_full_name(at, 0.7), right = Pair::by_argument(at, 0.7);
  CHECK(left.value() == right.value());
  CHECK(left.derivative(0) == right.derivative(0));
}

}  // namespace

TEST_CASE("functions called by their full name are recorded and differentiated as those found by arguments") {
#define NLSQ_CHECK(name) check<name>(#name);
  NLSQ_CHECK(Exp)
  NLSQ_CHECK(Log)
  NLSQ_CHECK(Sqrt)
  NLSQ_CHECK(Abs)
  NLSQ_CHECK(Fabs)
  NLSQ_CHECK(Sin)
  NLSQ_CHECK(Atanh)
  NLSQ_CHECK(Erfc)
  NLSQ_CHECK(Lgamma)
  NLSQ_CHECK(Pow)
  NLSQ_CHECK(PowOfTwo)
  NLSQ_CHECK(PowInt)
  NLSQ_CHECK(PowSame)
  NLSQ_CHECK(Atan2)
  NLSQ_CHECK(Hypot)
  NLSQ_CHECK(HypotOfThree)
  NLSQ_CHECK(Max)
  NLSQ_CHECK(MaxOfMixed)
  NLSQ_CHECK(MinOfMixed)
  NLSQ_CHECK(Clamp)
  NLSQ_CHECK(Fma)
  NLSQ_CHECK(Floor)
  NLSQ_CHECK(Copysign)
#undef NLSQ_CHECK
}

TEST_CASE("std::max records one operation and no guard, so both answers are one program") {
  std::vector<double> x, y;
  for (int i = 0; i < 60; ++i) {
    x.push_back(0.1 * i);
    y.push_back(std::max(1.5 * x.back() - 3, 0.25) + 0.01 * (i % 3));
  }
  const auto hinge = [](const auto& t, const auto& p) { return std::max(p[0] * t - 3, p[1] + t * 0); };
  const FitResult fit = curve_fit(hinge, x, y, {1.0, 0.0});
  CHECK(fit.success());
  CHECK(fit.summary.evaluator == "graph");
  CHECK(fit.parameters[0] == doctest::Approx(1.5).epsilon(0.02));
}

TEST_CASE("questions by full name have the answers of plain numbers") {
  const Dual8 nan(std::nan("")), one(1.0);
  CHECK(std::isnan(nan));
  CHECK_FALSE(std::isnan(one));
  CHECK(std::isfinite(Traced(2.0)));
  CHECK(std::signbit(Traced(-2.0)));
}

TEST_CASE("calls with plain numbers still mean the standard's functions") {
  static_assert(std::is_same_v<decltype(std::exp(1.0f)), float>);
  static_assert(std::is_same_v<decltype(std::pow(2, 3)), double>);
  static_assert(std::is_same_v<decltype(std::max(1, 2)), const int&>);
  const auto both = [](auto t) {
    using std::exp, std::max, std::pow;
    return exp(t) + pow(t, 2) + max(t, t);
  };
  CHECK(both(1.0) == std::exp(1.0) + 2);
  CHECK(both(Dual8(1.0, 0)).derivative(0) == doctest::Approx(std::exp(1.0) + 3));
}

TEST_CASE("residual blocks may use full names, too") {
  double a[1] = {1}, b[1] = {1};
  Problem problem;
  for (int i = 1; i <= 10; ++i) {
    const double t = 0.2 * i, y = 2 * std::exp(-0.5 * t);
    problem.add_residual_block([=](const auto* p, const auto* q) { return p[0] * std::exp(-q[0] * t) - y; },
                               {}, {a, b});
  }
  const Summary summary = solve(problem);
  CHECK(is_success(summary.verdict));
  CHECK(a[0] == doctest::Approx(2));
  CHECK(summary.evaluator == "graph");
}
