// Tests the accuracy of lgamma, erfcx and the Faddeeva functions in the vector kernels.

#include <nlsq/op.hpp>
#include <nlsq/special_functions.hpp>
#include "kernels/kernel_table.hpp"

#include <doctest/doctest.h>
#include <kernel_harness.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "special_arguments.hpp"

using nlsq::KernelTable;
using nlsq::Op;
using namespace elementary;

namespace {

// Returns the error of lgamma in units of the last place of the larger of the result and 1.
template <class T>
double lgamma_error(T got, Wide want) {
  const Wide unit = std::numeric_limits<T>::epsilon() * std::max(1.0L, std::fabs(want));
  return static_cast<double>(std::fabs(got - want) / unit);
}

template <class T>
void check_lgamma(const KernelTable& set) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> positive(1e-3, 200), negative(-30, 0);
  std::vector<T> a;
  for (int i = 0; i < 4096; ++i) a.push_back(static_cast<T>(i % 2 ? positive(random) : negative(random)));
  const auto got = harness::apply<T>(set, Op::lgamma, a);
  double worst = 0, worst_positive = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Wide want = std::lgamma(static_cast<Wide>(a[i]));
    worst = std::max(worst, lgamma_error(got[i], want));
    if (a[i] > 0) worst_positive = std::max(worst_positive, harness::ulps(got[i], want));
  }
  CHECK(worst < 1);
  CHECK(worst_positive < 1);  // this is relative, also at the zeros 1 and 2
}

// Returns the largest error relative to evaluate_op's value, in units of the format's epsilon.
template <class T>
double worst_against_scalar(const KernelTable& set, Op op, const std::vector<T>& a, const std::vector<T>& b,
                            T* at_a = nullptr, T* at_b = nullptr) {
  const auto got = harness::apply<T>(set, op, a, b);
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double want = nlsq::evaluate_op(op, a[i], b[i]);
    const T rounded = static_cast<T>(want);
    if (got[i] == rounded || (std::isnan(got[i]) && std::isnan(rounded))) continue;
    const double floor = static_cast<double>(std::numeric_limits<T>::min());
    const double error = std::fabs(static_cast<double>(got[i]) - want) /
                         (std::numeric_limits<T>::epsilon() * std::max(std::fabs(want), floor));
    if (!(error <= worst)) {
      worst = std::isnan(error) ? 1e300 : error;
      if (at_a) *at_a = a[i], *at_b = b[i];
    }
  }
  return worst;
}

template <class T>
void check_faddeeva(const KernelTable& set) {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> uniform(-1, 1), exponent(-20, 4);
  std::vector<T> a, b;
  for (int i = 0; i < 60000; ++i) {
    a.push_back(static_cast<T>(i % 3 == 0   ? 30 * uniform(random)
                               : i % 3 == 1 ? 7 * uniform(random)
                                            : 1000 * uniform(random)));
    b.push_back(static_cast<T>(i % 2 ? std::pow(10, exponent(random)) : 8 * std::fabs(uniform(random))));
  }
  for (T x : {T(0), T(1), T(1e20), -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(),
              T(3e4)})
    for (T y : {T(0), T(2), T(-1), T(1e30), std::numeric_limits<T>::infinity(),
                std::numeric_limits<T>::quiet_NaN()})
      a.push_back(x), b.push_back(y);
  for (Op op : {Op::wofz_re, Op::wofz_im}) {
    CAPTURE(std::string(nlsq::name(op)));
    T x{}, y{};
    const double worst = worst_against_scalar(set, op, a, b, &x, &y);
    CAPTURE(x);
    CAPTURE(y);
    CHECK(worst < (sizeof(T) == 8 ? 40 : 0.51));
  }
}

template <class T>
void check_erfcx(const KernelTable& set) {
  std::mt19937_64 random(22);
  std::uniform_real_distribution<double> uniform(-28, 30), exponent(-30, 30);
  std::vector<T> a;
  for (int i = 0; i < 20000; ++i)
    a.push_back(static_cast<T>(i % 2 ? uniform(random) : std::pow(10, exponent(random))));
  for (T x : special_arguments<T>()) a.push_back(x);
  T x{}, y{};
  const double worst = worst_against_scalar(set, Op::erfcx, a, a, &x, &y);
  CAPTURE(x);
  CHECK(worst < (sizeof(T) == 8 ? 6 : 0.51));
}

}  // namespace

TEST_CASE("lgamma is good to 1 ulp of itself or of 1, and to 1 ulp of itself for positive arguments") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    check_lgamma<double>(*set);
    check_lgamma<float>(*set);
  }
}

TEST_CASE(
    "Vector erfcx and Faddeeva functions agree with the scalar ones to rounding, special values included") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    check_erfcx<double>(*set);
    check_erfcx<float>(*set);
    check_faddeeva<double>(*set);
    check_faddeeva<float>(*set);
  }
}
