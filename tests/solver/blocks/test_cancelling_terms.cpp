// Tests residual blocks whose terms cancel: polynomials in years, one row a block. Rounding errors of the
// terms are far larger than the last digits of y, so noise below them must not pass for exact data. A success
// is at most a tenth of a standard error from the minimum, which is computed here in long double about the
// middle year.
#include "expression/twofold.hpp"

#include <nlsq/manifold.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <span>
#include <vector>

using namespace nlsq;

namespace {

using Long = long double;
constexpr double kMiddle = 2007;

Long dot(const std::vector<Long>& a, const std::vector<Long>& b) {
  Long sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
void subtract(std::vector<Long>& from, const std::vector<Long>& of) {
  const Long times = dot(from, of);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= times * of[i];
}

struct Polynomial {
  double x, y;
  std::size_t n;
  template <class T>
  T operator()(const T* p) const {
    T value = p[n - 1];
    for (std::size_t j = n - 1; j-- > 0;) value = p[j] + x * value;
    return value - y;
  }
};

// Evaluates the same polynomial as a function that is called with doubles only, so that it cannot be
// recorded.
struct CalledPolynomial {
  Polynomial row;
  double operator()(const double* p) const { return row(p); }
};

struct Rows {
  std::vector<double> x, y;

  Rows(std::size_t n, double noise, double middle, std::mt19937& random) {
    const auto uniform = [&] { return 2 * static_cast<double>(random()) / 0x1p32 - 1; };
    std::vector<double> a(n);
    for (double& value : a) value = uniform();
    for (int i = -17; i <= 17; ++i) {
      double value = 0;
      for (std::size_t j = n; j-- > 0;) value = value * i / 17 + a[j];
      x.push_back(middle + i);
      y.push_back(value + noise * (uniform() + uniform() + uniform()));
    }
  }

  // Returns the distance of c0 + c1 x + ... from the minimum, in standard errors.
  double distance(std::span<const double> c) const {
    std::vector<Long> left(y.begin(), y.end()), residuals;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Twofold value;
      for (std::size_t j = c.size(); j-- > 0;)
        value = twofold_sum(twofold_product(value, {x[i], 0}), {c[j], 0});
      value = twofold_sum(value, {-y[i], 0});
      residuals.push_back(static_cast<Long>(value.high) + static_cast<Long>(value.low));
    }
    std::vector<std::vector<Long>> basis;
    Long squares = 0;
    for (std::size_t j = 0; j < c.size(); ++j) {
      std::vector<Long> column;
      for (int i = -17; i <= 17; ++i) column.push_back(std::pow(static_cast<Long>(i), static_cast<Long>(j)));
      for (int twice = 0; twice < 2; ++twice)
        for (const auto& other : basis) subtract(column, other);
      const Long size = std::sqrt(dot(column, column));
      for (Long& value : column) value /= size;
      subtract(left, column);
      squares += dot(residuals, column) * dot(residuals, column);
      basis.push_back(std::move(column));
    }
    return static_cast<double>(std::sqrt(squares / dot(left, left) * static_cast<Long>(x.size() - c.size())));
  }

  template <class Function>
  bool solved(std::vector<double>& p, const auto& row, ManifoldPtr manifold = nullptr) const {
    Problem problem;
    problem.add_parameter_block(p.data(), static_cast<int>(p.size()), manifold);
    for (std::size_t i = 0; i < x.size(); ++i)
      problem.add_residual_block(Function(row(x[i], y[i])), nullptr, {p.data()});
    return is_success(solve(problem).verdict);
  }
};

}  // namespace

TEST_CASE("blocks of a polynomial in years are at the minimum, or are no success") {
  std::mt19937 random(5);
  int successes = 0;
  for (const std::size_t n : {3U, 4U, 5U}) {
    for (int k = 0; k < 30; ++k) {
      const double noise = std::pow(10.0, -5 - 8 * k / 29.0);
      const Rows rows(n, noise, kMiddle, random);
      for (const bool called : {false, true}) {
        std::vector<double> p(n, 0.0);
        const auto row = [&](double x, double y) { return Polynomial{x, y, n}; };
        const auto called_row = [&](double x, double y) { return CalledPolynomial{row(x, y)}; };
        const bool success =
            called ? rows.solved<CalledPolynomial>(p, called_row) : rows.solved<Polynomial>(p, row);
        successes += success;
        CAPTURE(n);
        CAPTURE(noise);
        CAPTURE(called);
        if (success) CHECK(rows.distance(p) <= 0.1);
      }
    }
  }
  CHECK(successes >= 40);
}

TEST_CASE("a manifold that holds a coefficient does not hide that the others cancel") {
  std::mt19937 random(3);
  for (int k = 0; k < 10; ++k) {
    const Rows rows(4, 1e-13, kMiddle, random);
    std::vector<double> p(5, 0.0);
    CHECK_FALSE(rows.solved<Polynomial>(
        p,
        [](double x, double y) {
          return Polynomial{x, y, 5};
        },
        subset_manifold(5, {4})));
  }
}

TEST_CASE("blocks whose terms do not cancel succeed without noise") {
  std::mt19937 random(7);
  for (const std::size_t n : {2U, 3U, 4U}) {
    const Rows rows(n, 0, 0, random);
    std::vector<double> p(n, 1.0);
    CHECK(rows.solved<Polynomial>(p, [&](double x, double y) { return Polynomial{x, y, n}; }));
  }
}
