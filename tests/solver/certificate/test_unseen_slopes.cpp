// Tests fits that start where derivatives do not show a slope: in the branch of a limit, such as that for n =
// 1 of an integral of x^-n, and at the 0 of k*|k|. The column of J is 0 there, and differences of the
// gradient to both sides look like those at a minimum.
#include <nlsq/certify.hpp>
#include <nlsq/nlsq.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// A power transformation of x, whose limit for an exponent of 0 is a logarithm.
template <class T>
T transformed(double x, const T* p) {
  using std::pow;
  if (p[1] == 0.0) return p[0] * T(std::log(x)) + p[2];
  return p[0] * (pow(T(x), p[1]) - T(1)) / p[1] + p[2];
}

// A line whose slope is k|k|.
template <class T>
T rising(double x, const T* p) {
  using std::abs;
  return p[0] + p[1] * abs(p[1]) * T(x) + p[2] * T(0.1 * x * x);
}

struct Rows {
  std::vector<double> x, y;

  template <class F>
  Rows(F f, const std::vector<double>& truth) {
    for (int i = 0; i < 60; ++i) {
      x.push_back(0.2 + 0.08 * i);
      y.push_back(f(x.back(), truth.data()) + 0.01 * (i % 3 - 1));
    }
  }
};

constexpr double kNoise = 0.01;  // a cost above that of the noise, 0.002

const char* const kTransformed = "if(l==0, a*log(x), a*(x^l-1)/l)+c";

template <class F>
void check_residuals(F f, const Rows& rows) {
  const auto residuals = [&](const auto& p) {
    std::vector<std::decay_t<decltype(p[0] * 1.0)>> r;
    for (std::size_t i = 0; i < rows.x.size(); ++i) r.push_back(f(rows.x[i], &p[0]) - rows.y[i]);
    return r;
  };
  const LeastSquaresResult found = least_squares(residuals, std::vector<double>{1, 0, 0}, {});
  INFO(found.summary.message);
  CHECK(found.summary.final_cost < kNoise);
}

template <class F>
struct One {
  F f;
  double x, y;
  template <class T>
  T operator()(const T* p) const {
    return f(x, p) - T(y);
  }
};

template <class F>
void check_blocks(F f, const Rows& rows) {
  double p[3] = {1, 0, 0};
  Problem problem;
  problem.add_parameter_block(p, 3);
  for (std::size_t i = 0; i < rows.x.size(); ++i)
    problem.add_residual_block<1>(One<F>{f, rows.x[i], rows.y[i]}, nullptr, {p});
  CHECK_FALSE(certify(problem).certificate.passed);
  const Summary s = solve(problem);
  INFO(s.message);
  CHECK(s.final_cost < kNoise);
}

}  // namespace

TEST_CASE("a formula leaves the branch of a limit") {
  const Rows rows(transformed<double>, {1.3, 0.7, 0.5});
  for (const char* const policy : {"auto", "f64"}) {
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    const FitResult fit =
        curve_fit(kTransformed, rows.x, rows.y, {{"a", 1.0}, {"l", 0.0}, {"c", 0.0}}, options);
    INFO(fit.summary.message);
    CHECK(fit.summary.final_cost < kNoise);
  }
  const FitResult judged =
      certify(parse_formula(kTransformed), rows.x, rows.y, {{"a", 2.3}, {"l", 0.0}, {"c", 0.4}});
  CHECK_FALSE(judged.success());
}

TEST_CASE("residual functions and blocks leave the branch of a limit") {
  const Rows rows(transformed<double>, {1.3, 0.7, 0.5});
  const auto f = [](double x, const auto* p) { return transformed(x, p); };
  check_residuals(f, rows);
  check_blocks(f, rows);
}

TEST_CASE("residual functions and blocks leave the 0 of k*|k|") {
  const Rows rows(rising<double>, {2, 0.4, 0.3});
  const auto f = [](double x, const auto* p) { return rising(x, p); };
  check_residuals(f, rows);
  check_blocks(f, rows);
}

// At (2, 0) the derivative by the second number is 0, since the circle is level there. It is not a jump.
TEST_CASE("blocks: a point of a circle is a minimum where the circle is level, too") {
  Problem problem;
  double p[2] = {0, 0};
  const auto circle = [](const auto* at, auto* r) {
    r[0] = at[0] * at[0] + at[1] * at[1] - 4.0;
    return true;
  };
  problem.add_residual_block<1>(circle, Loss(), {p});
  const Summary summary = solve(problem);
  CAPTURE(summary.message);
  CHECK(is_success(summary.verdict));
  CHECK(summary.message.find("in jumps") == std::string::npos);
  CHECK(std::hypot(p[0], p[1]) == doctest::Approx(2));
}
