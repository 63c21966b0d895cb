// Measures errors of the vector functions in units of the last place, against the C library in long double.
// The bounds here are those of jacobian/kernels/README.md.
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

using WideFunction = Wide (*)(Wide, Wide);

// Says how arguments are drawn.
enum class Range { unit, ten, near_one, large, exponent, every_magnitude, subnormal };
constexpr Range ranges[] = {Range::unit,     Range::ten,      Range::near_one,
                            Range::large,    Range::exponent, Range::every_magnitude,
                            Range::subnormal};

Wide exact_gamma(Wide a, Wide) { return a <= 0 && a == std::floor(a) ? std::nanl("") : std::tgamma(a); }

struct Case {
  Op op;
  WideFunction reference;
  double bound;  // ulp, in double and in float
};

// clang-format off
constexpr Case cases[] = {
    {Op::exp, [](Wide a, Wide) { return std::exp(a); }, 1.01},
    {Op::expm1, [](Wide a, Wide) { return std::expm1(a); }, 1.01},
    {Op::log, [](Wide a, Wide) { return std::log(a); }, 1.01},
    {Op::log10, [](Wide a, Wide) { return std::log10(a); }, 1.01},
    {Op::log2, [](Wide a, Wide) { return std::log2(a); }, 1.01},
    {Op::log1p, [](Wide a, Wide) { return std::log1p(a); }, 1.01},
    {Op::sin, [](Wide a, Wide) { return std::sin(a); }, 1.01},
    {Op::cos, [](Wide a, Wide) { return std::cos(a); }, 1.01},
    {Op::tan, [](Wide a, Wide) { return std::tan(a); }, 1.01},
    {Op::asin, [](Wide a, Wide) { return std::asin(a); }, 1.01},
    {Op::acos, [](Wide a, Wide) { return std::acos(a); }, 1.01},
    {Op::atan, [](Wide a, Wide) { return std::atan(a); }, 1.01},
    {Op::sinh, [](Wide a, Wide) { return std::sinh(a); }, 3.0},
    {Op::cosh, [](Wide a, Wide) { return std::cosh(a); }, 3.0},
    {Op::tanh, [](Wide a, Wide) { return std::tanh(a); }, 1.01},
    {Op::asinh, [](Wide a, Wide) { return std::asinh(a); }, 1.5},
    {Op::acosh, [](Wide a, Wide) { return std::acosh(a); }, 1.5},
    {Op::atanh, [](Wide a, Wide) { return std::atanh(a); }, 1.01},
    {Op::erf, [](Wide a, Wide) { return std::erf(a); }, 1.01},
    {Op::erfc, [](Wide a, Wide) { return std::erfc(a); }, 1.5},
    {Op::cbrt, [](Wide a, Wide) { return std::cbrt(a); }, 1.01},
    {Op::gamma, exact_gamma, 1.01},
    {Op::pow, [](Wide a, Wide b) { return std::pow(a, b); }, 1.01},
    {Op::hypot, [](Wide a, Wide b) { return std::hypot(a, b); }, 1.01},
    {Op::atan2, [](Wide a, Wide b) { return std::atan2(a, b); }, 1.01},
};
// clang-format on

template <class T>
T draw(Range range, std::mt19937_64& random) {
  using L = std::numeric_limits<T>;
  const double u = std::uniform_real_distribution<double>(-1, 1)(random);
  switch (range) {
    case Range::unit: return static_cast<T>(u);
    case Range::ten: return static_cast<T>(10 * u);
    case Range::near_one: return static_cast<T>(1 + 1e-3 * u);
    case Range::large: return static_cast<T>(1e5 * u);
    case Range::exponent: return static_cast<T>(u * (L::max_exponent + 20) * 0.7);  // beyond exp's range
    case Range::every_magnitude: {
      const double exponent = (L::max_exponent - 2) * std::uniform_real_distribution<double>(-1, 1)(random);
      return static_cast<T>(std::ldexp(u < 0 ? u - 1 : u + 1, static_cast<int>(exponent)));
    }
    case Range::subnormal: return static_cast<T>(std::ldexp(u, L::min_exponent + 2));
  }
  return 0;
}

// At and below the smallest normal numbers, intermediate values have lost bits, so the bound there is 2
// units.
template <class T>
double excess(T got, Wide want, double bound) {
  const bool subnormal = std::fabs(want) < 8 * std::numeric_limits<T>::min();
  return harness::ulps(got, want) / (subnormal ? std::max(bound, 2.0) : bound);
}

template <class T>
struct Sample {
  std::vector<T> a, b;
  std::vector<Wide> want;
};

template <class T>
Sample<T> sample(const Case& c, Range range, int count) {
  std::mt19937_64 random(static_cast<unsigned>(c.op) * 16 + static_cast<unsigned>(range));
  Sample<T> s;
  for (int i = 0; i < count; ++i) {
    s.a.push_back(draw<T>(range, random));
    s.b.push_back(draw<T>(range, random));
    s.want.push_back(c.reference(s.a.back(), s.b.back()));
    // Gamma at large negative arguments, where it underflows, has its own test.
    if (c.op == Op::gamma && s.a.back() < -30) s.a.back() = T(0.5), s.want.back() = c.reference(0.5L, 0);
  }
  return s;
}

template <class T>
void check_bound(const Case& c) {
  for (Range range : ranges) {
    CAPTURE(static_cast<int>(range));
    const auto s = sample<T>(c, range, 4096);
    for (const KernelTable* set : nlsq::available_kernels()) {
      const auto got = harness::apply<T>(*set, c.op, s.a, s.b);
      double worst = 0;
      std::size_t where = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double e = excess(got[i], s.want[i], c.bound);
        if (e > worst) worst = e, where = i;
      }
      CAPTURE(std::string(set->name));
      CAPTURE(s.a[where]);
      CAPTURE(s.b[where]);
      CAPTURE(got[where]);
      CHECK(worst <= 1);
    }
  }
}

template <class T>
void check_special(const Case& c) {
  std::vector<T> a, b;
  for (T x : special_arguments<T>())
    for (T y : special_arguments<T>()) {
      a.push_back(x);
      b.push_back(y);
    }
  for (const KernelTable* set : nlsq::available_kernels()) {
    const auto got = harness::apply<T>(*set, c.op, a, b);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Wide want = c.reference(a[i], b[i]);
      if (excess(got[i], want, c.bound) <= 1) continue;
      CAPTURE(std::string(set->name));
      CAPTURE(a[i]);
      CAPTURE(b[i]);
      CHECK(got[i] == static_cast<T>(want));
    }
  }
}

// Tests operations that are always evaluated in double. Float results then differ by one rounding.
template <class T>
void check_by_lanes(const KernelTable& set) {
  std::vector<T> a, b;
  for (int i = 0; i < 300; ++i) {
    a.push_back(static_cast<T>(0.037 * i - 3.0123));
    b.push_back(static_cast<T>(0.011 * (i % 50)));
  }
  for (Op op : {Op::digamma, Op::trigamma, Op::besj0, Op::besj1, Op::fmod}) {
    CAPTURE(std::string(nlsq::name(op)));
    const auto got = harness::apply<T>(set, op, a, b);
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(a[i]);
      REQUIRE(harness::ulps(got[i], static_cast<Wide>(nlsq::evaluate_op(op, a[i], b[i]))) <= 0.5);
    }
  }
}

}  // namespace

TEST_CASE("Vector functions keep their bounds in double over every range of arguments") {
  for (const Case& c : cases) {
    CAPTURE(std::string(nlsq::name(c.op)));
    check_bound<double>(c);
  }
}

TEST_CASE("Vector functions keep their bounds in float over every range of arguments") {
  for (const Case& c : cases) {
    CAPTURE(std::string(nlsq::name(c.op)));
    check_bound<float>(c);
  }
}

namespace {

// Tests powers whose results fill the range of the format, where an error of log x matters most, especially
// for x next to 1.
template <class T>
void check_long_powers(const KernelTable& set) {
  std::mt19937_64 random(31);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double most = std::log(static_cast<double>(std::numeric_limits<T>::max())) * 0.999;
  std::vector<T> a, b;
  for (int i = 0; i < 60000; ++i) {
    double x = 1;
    switch (i % 4) {
      case 0: x = 1 + 0.04 * uniform(random); break;
      case 1: x = 1 + std::ldexp(uniform(random), -static_cast<int>(random() % 40)); break;
      case 2:
        x = std::ldexp(1.5 + 0.5 * uniform(random),
                       static_cast<int>((std::numeric_limits<T>::max_exponent - 3) * uniform(random)));
        break;
      default: x = 1 + 0.5 * uniform(random);
    }
    a.push_back(static_cast<T>(x));
    const double log_x = std::log(static_cast<double>(a.back()));
    b.push_back(static_cast<T>(log_x == 0 ? 1e300 : most / log_x * uniform(random)));
    if (!std::isfinite(b.back())) b.back() = 3;
  }
  const auto got = harness::apply<T>(set, Op::pow, a, b);
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double e = excess(got[i], std::pow(static_cast<Wide>(a[i]), static_cast<Wide>(b[i])), 1.01);
    if (e > worst) worst = e, where = i;
  }
  CAPTURE(a[where]);
  CAPTURE(b[where]);
  CHECK(worst <= 1);
}

}  // namespace

TEST_CASE("Powers keep their bound where the exponent is as large as the result allows") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    check_long_powers<double>(*set);
    check_long_powers<float>(*set);
  }
}

TEST_CASE("Integer powers of negative numbers have the sign of the C library's, others are NaN") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    std::vector<double> a, b;
    for (const double x : {-2.0, -0.5, -1.0, -1e-3, -1e100}) {
      for (const double y :
           {1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 0.0, 0.5, -1.5, 4503599627370497.0, 9007199254740992.0}) {
        a.push_back(x), b.push_back(y);
        a.push_back(-x), b.push_back(y);  // the lane beside it needs no correction
      }
    }
    const auto got = harness::apply<double>(*set, Op::pow, a, b);
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(a[i]);
      CAPTURE(b[i]);
      CHECK(excess(got[i], std::pow(static_cast<Wide>(a[i]), static_cast<Wide>(b[i])), 1.01) <= 1);
      if (!std::isnan(got[i])) CHECK(std::signbit(got[i]) == std::signbit(std::pow(a[i], b[i])));
    }
  }
}

TEST_CASE("Zeros, infinities, NaN and the ends of the range come out as the C library has them") {
  for (const Case& c : cases) {
    CAPTURE(std::string(nlsq::name(c.op)));
    check_special<double>(c);
    check_special<float>(c);
  }
}

TEST_CASE(
    "Gamma near its negative poles and where it underflows errs by 1e-12 or by the smallest normal number "
    "times 1e-3") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    std::vector<double> a;
    for (int i = 0; i < 2000; ++i) a.push_back(-30.0137 - 0.0781 * i);
    const auto got = harness::apply<double>(*set, Op::gamma, a);
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(a[i]);
      const double want = static_cast<double>(std::tgamma(static_cast<Wide>(a[i])));
      REQUIRE(std::fabs(got[i] - want) <=
              1e-12 * std::fabs(want) + 1e-3 * std::numeric_limits<double>::min());
    }
  }
}

TEST_CASE("Functions without a vector form give evaluate_op's value, rounded once") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    check_by_lanes<double>(*set);
    check_by_lanes<float>(*set);
  }
}
