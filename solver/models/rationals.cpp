// Defines built-in ratios of polynomials, with the constant of the denominator equal to 1.
//
// Starts come from y Q(x) = P(x), which is linear in the coefficients. It is solved repeatedly with weights
// 1/Q from the previous pass (Sanathanan and Koerner, IEEE Trans. Autom. Control 8 (1963) 56).
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"
#include "support/column_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0::guessing {
namespace {

// A pole between two rows can be a fit to a single row that is far off by noise. A curve without a pole is
// taken instead if its sum of squares is at most this many times that of the curve with a pole.
constexpr double kAsGood = 1.25;

// Holds x divided by the largest |x|.
struct Scaled {
  std::vector<double> v;
  double scale;
};

Scaled scaled_x(const Sample& sample) {
  const double largest = std::max(std::abs(sample.x.front()), std::abs(sample.x.back()));
  Scaled s{sample.x, largest > 0 ? largest : 1.0};
  for (double& value : s.v) value /= s.scale;
  return s;
}

double denominator(std::span<const double> b, double v) {
  double Q = 0;
  for (std::size_t k = b.size(); k-- > 0;) Q = (Q + b[k]) * v;
  return 1 + Q;
}

// Returns the denominators from each pass of the iteration, starting from Q = 1.
std::vector<std::vector<double>> linearised(const std::vector<double>& v, const Sample& sample, int degree) {
  const std::vector<double>& y = sample.y;
  const std::size_t n = v.size(), d = static_cast<std::size_t>(degree), k = 2 * d + 1;
  std::vector<std::vector<double>> met;
  std::vector<double> b(d, 0.0), columns(n * k), right(n), c(k);
  for (int pass = 0; pass < 6; ++pass) {
    for (std::size_t i = 0; i < n; ++i) {
      const double Q = denominator(b, v[i]);
      const double weight = sample.weight_of(i) / std::max(std::abs(Q), 1e-6);
      right[i] = weight * y[i];
      double power = weight;
      for (std::size_t j = 0; j <= d; ++j, power *= v[i]) {
        columns[j * n + i] = power;
        if (j > 0) columns[(d + j) * n + i] = -power * y[i];
      }
    }
    if (!std::isfinite(project(right, static_cast<int>(k), columns.data(), c.data()))) break;
    b.assign(c.begin() + static_cast<std::ptrdiff_t>(d) + 1, c.end());
    met.push_back(b);
  }
  return met;
}

std::vector<double> rational(const Sample& sample, int degree, std::vector<std::vector<double>> starts) {
  const Scaled x = scaled_x(sample);
  const std::size_t d = static_cast<std::size_t>(degree);
  Separable problem(sample, x.v, degree + 1, std::vector<double>(d, -1e6), std::vector<double>(d, 1e6));
  problem.basis = [d](std::span<const double> u, std::span<const double> q, double* columns) {
    const std::size_t n = u.size();
    for (std::size_t i = 0; i < n; ++i) {
      double term = 1 / denominator(q, u[i]);
      for (std::size_t j = 0; j <= d; ++j, term *= u[i]) columns[j * n + i] = term;
    }
  };
  for (auto& b : linearised(x.v, sample, degree)) starts.push_back(std::move(b));
  const Effort effort = {.keep = 6, .finalists = 3, .rival = 3};
  Solution best = search(problem, starts, effort);
  if (pole_within(best.q, x.v.front(), x.v.back())) {
    Separable smooth = problem;
    smooth.basis = [&](std::span<const double> u, std::span<const double> q, double* columns) {
      problem.basis(u, q, columns);
      if (pole_within(q, x.v.front(), x.v.back())) columns[0] = std::numeric_limits<double>::quiet_NaN();
    };
    Solution other = search(smooth, starts, effort);
    if (other.rss <= kAsGood * best.rss) best = std::move(other);
  }
  std::vector<double> values;
  double power = 1;
  for (std::size_t j = 0; j <= d; ++j, power *= x.scale) values.push_back(best.c[j] / power);
  power = x.scale;
  for (std::size_t j = 0; j < d; ++j, power *= x.scale) values.push_back(best.q[j] / power);
  return values;
}

std::vector<double> rational11(const Sample& sample) {
  std::vector<std::vector<double>> starts;
  for (const double b : {0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0}) {
    starts.push_back({b});
    starts.push_back({-std::min(b, 0.97)});
  }
  return rational(sample, 1, std::move(starts));
}

std::vector<double> rational22(const Sample& sample) {
  std::vector<std::vector<double>> starts;
  for (const double b1 : {-3.0, -1.0, 0.0, 1.0, 5.0, 25.0})
    for (const double b2 : {0.0, 0.3, 1.0, 3.0, 10.0, 40.0}) starts.push_back({b1, b2});
  return rational(sample, 2, std::move(starts));
}

}  // namespace

void add_rationals(std::vector<Model>& models) {
  add(models, "rational11", "(a0+a1*x)/(1+b1*x)", "ratio of two straight lines",
      {{"a0", "value at x = 0 (units of y)", {-3, 3}},
       {"a1", "numerator's coefficient of x (y per x)", {1, 5}},
       {"b1", "denominator's coefficient of x (1/x)", {0.2, 2}}},
      {0, 10}, rational11);
  add(models, "rational22", "(a0+a1*x+a2*x^2)/(1+b1*x+b2*x^2)", "ratio of two parabolas",
      {{"a0", "value at x = 0 (units of y)", {-3, 3}},
       {"a1", "numerator's coefficient of x (y per x)", {-2, 2}},
       {"a2", "numerator's coefficient of x^2 (y per x^2)", {1, 3}},
       {"b1", "denominator's coefficient of x (1/x)", {-0.5, 0.5}},
       {"b2", "denominator's coefficient of x^2 (1/x^2)", {0.2, 1}}},
      {0, 10}, rational22);
}

std::optional<double> pole_within(std::span<const double> b, double low, double high) {
  const auto within = [&](double v) { return v >= low && v <= high; };
  const double b1 = b[0], b2 = b.size() > 1 ? b[1] : 0;
  if (b2 == 0) return b1 != 0 && within(-1 / b1) ? std::optional(-1 / b1) : std::nullopt;
  const double discriminant = b1 * b1 - 4 * b2;
  if (!(discriminant >= 0)) return std::nullopt;
  // The zeros of b2 v^2 + b1 v + 1 are 2/(-b1 +- root), in the form without cancellation for the first.
  const double sum = -(b1 + std::copysign(std::sqrt(discriminant), b1));
  for (const double zero : {2 / sum, sum / (2 * b2)})
    if (within(zero)) return zero;
  return std::nullopt;
}

std::string pole_warning(const Model& model, std::span<const double> parameters, const Column& x) {
  const std::size_t degree = model.name == "rational11" ? 1 : model.name == "rational22" ? 2 : 0;
  if (degree == 0) return {};
  // Most denominators have no zero at all, and then x need not be read.
  constexpr double kAnywhere = std::numeric_limits<double>::infinity();
  if (!pole_within(parameters.last(degree), -kAnywhere, kAnywhere)) return {};
  const ColumnRange range = range_of(x);
  const auto pole = pole_within(parameters.last(degree), range.least, range.most);
  if (!pole) return {};
  return fmt::format(
      "the curve has a pole at x = {:.6g}, between the data: its denominator is 0 there. If that is not what "
      "you "
      "expect, fit a model with fewer parameters, or start elsewhere (p0)",
      *pole);
}

}  // namespace nlsq::inline v0::guessing
