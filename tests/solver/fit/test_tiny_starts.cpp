// Tests residual functions that are only called, from starts that are tiny but not 0, such as sin π or an
// earlier result that is 0 up to rounding. Steps in proportion to such a start moved no residual, so its
// column of J was 0, and the solve ended at once with a success.
#include <nlsq/covariance.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/least_squares.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

using namespace nlsq;

namespace {

constexpr double kTiny[] = {1e-9, 1e-12, 1.2246e-16, 1e-30, -1e-17, 1e-300};

// Holds a straight line with noise, and its least squares by sums.
struct Line {
  std::vector<double> x, y;
  double slope = 0, intercept = 0, slope_error = 0;

  explicit Line(double true_slope) {
    std::mt19937 random(3);
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, squares = 0;
    for (int i = 0; i < 20; ++i) {
      x.push_back(-1 + i / 9.5);
      y.push_back(true_slope * x.back() + 3 + 0.1 * (static_cast<double>(random()) / 0x1p32 - 0.5));
      mean_x += x.back() / 20, mean_y += y.back() / 20;
    }
    for (std::size_t i = 0; i < 20; ++i) {
      xx += (x[i] - mean_x) * (x[i] - mean_x);
      xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    slope = xy / xx, intercept = mean_y - slope * mean_x;
    for (std::size_t i = 0; i < 20; ++i) squares += std::pow(y[i] - intercept - slope * x[i], 2);
    slope_error = std::sqrt(squares / 18 / xx);
  }
  // Moves y so that the slope of the least squares is 0 up to rounding.
  void level() {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] -= slope * x[i];
    slope = 0;
  }
  VectorFunction residuals() const {
    return {[this](std::span<const double> p) {
      std::vector<double> r;
      for (std::size_t i = 0; i < x.size(); ++i) r.push_back(p[0] * x[i] + p[1] - y[i]);
      return r;
    }};
  }
};

struct CalledRow {  // accepts double alone
  static constexpr int residuals = 1;
  double x, y;
  bool operator()(const double* p, double* r) const {
    r[0] = p[0] * x + p[1] - y;
    return true;
  }
};

}  // namespace

TEST_CASE("Least squares of called functions leave tiny starts") {
  const Line line(2);
  for (const double start : kTiny) {
    CAPTURE(start);
    const LeastSquaresResult found = least_squares(line.residuals(), {start, 4});
    CHECK(found.summary.verdict == Verdict::converged);
    CHECK(found.x[0] == doctest::Approx(line.slope).epsilon(1e-7));
    CHECK(found.x[1] == doctest::Approx(line.intercept).epsilon(1e-7));
    LeastSquaresOptions extrapolated;
    extrapolated.differences = Differences::ridders;
    CHECK(least_squares(line.residuals(), {start, 4}, extrapolated).x[0] ==
          doctest::Approx(line.slope).epsilon(1e-7));
  }
}

TEST_CASE("Bounds beside a tiny start are kept") {
  const Line line(2);
  LeastSquaresOptions options;
  options.bounds.lower = {0, -10};
  options.bounds.upper = {5, 10};
  double least = 0;
  const VectorFunction inside{[&](std::span<const double> p) {
    least = std::min(least, p[0]);
    return line.residuals().value(p);
  }};
  const LeastSquaresResult found = least_squares(inside, {1e-16, 4}, options);
  CHECK(found.x[0] == doctest::Approx(line.slope).epsilon(1e-7));
  CHECK(least == 0);
}

TEST_CASE("Standard errors are right where a called function is solved again from a result of almost 0") {
  Line line(0.3);
  line.level();
  const LeastSquaresResult first = least_squares(line.residuals(), {0.1, 2});
  CHECK(std::fabs(first.x[0]) < 1e-9);
  for (const double start : {first.x[0], 4.6e-18, -4.7e-12}) {
    CAPTURE(start);
    const LeastSquaresResult again = least_squares(line.residuals(), {start, first.x[1]});
    CHECK(again.summary.verdict == Verdict::converged);
    CHECK(again.standard_errors[0] == doctest::Approx(line.slope_error).epsilon(1e-4));
  }
}

TEST_CASE("Curves by a called function leave tiny starts") {
  const Line line(2);
  const auto straight = [](double x, std::span<const double> p) { return p[0] * x + p[1]; };
  for (const double start : kTiny) {
    CAPTURE(start);
    const FitResult found = curve_fit(straight, line.x, line.y, {start, 4});
    CHECK(is_success(found.summary.verdict));
    CHECK(found.parameters[0] == doctest::Approx(line.slope).epsilon(1e-7));
  }
}

TEST_CASE("Residual blocks of called functions leave tiny starts") {
  for (const bool level : {false, true}) {
    Line line(2);
    if (level) line.level();
    for (const double start : kTiny) {
      CAPTURE(level);
      CAPTURE(start);
      double p[2] = {start, 4};
      Problem problem;
      for (std::size_t i = 0; i < line.x.size(); ++i)
        problem.add_residual_block(CalledRow{line.x[i], line.y[i]}, nullptr, {p});
      const Summary found = solve(problem);
      CHECK(found.verdict == Verdict::converged);
      CHECK(std::fabs(p[0] - line.slope) <= 1e-6 * line.slope_error);
      p[0] = start;  // beside the minimum of a level line
      if (level) CHECK(solve(problem).verdict == Verdict::converged);
    }
  }
}

TEST_CASE("A row that hides others, and places where a function throws, leave steps as short as the start") {
  // Larger steps would cross the whole curve, or leave the range in which the function is defined.
  std::vector<double> x, y;
  for (int i = 0; i < 20; ++i) {
    x.push_back(i / 19.0);
    y.push_back(1 / (1 + 2 * x.back()) + 1e-3 * std::sin(7.0 * i));
  }
  const auto hyperbola = [&](double heavy) {
    return VectorFunction{[&x, &y, heavy](std::span<const double> p) {
      std::vector<double> r{heavy};
      for (std::size_t i = 0; i < x.size(); ++i) r.push_back(p[1] / (1 + x[i] * p[0] * 1e9) - y[i]);
      return r;
    }};
  };
  const LeastSquaresResult alone = least_squares(hyperbola(0), {1e-9, 1.2});
  const LeastSquaresResult beside = least_squares(hyperbola(1e8), {1e-9, 1.2});
  CHECK(beside.x[0] == doctest::Approx(alone.x[0]).epsilon(1e-4));
  const VectorFunction narrow{[&x](std::span<const double> p) {
    if (std::fabs(p[0]) > 1e-9) throw std::domain_error("beyond 1e-9");
    std::vector<double> r{1000};
    for (const double at : x) r.push_back(1e3 * (p[0] - 5e-10) * at);
    return r;
  }};
  CHECK(least_squares(narrow, {1e-12}).x[0] == doctest::Approx(5e-10).epsilon(1e-6));
}
