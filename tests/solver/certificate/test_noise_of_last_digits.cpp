// Tests data near a large offset, with noise in some of their last digits. Rounding of the residuals, and of
// the offset that is fitted, may then be a large part of a standard error. A certificate says that the
// minimum is within a tenth of one, or that the residuals are only rounding errors.
#include <nlsq/curve_fit.hpp>
#include <nlsq/curve_fit_batch.hpp>

#include <doctest/doctest.h>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "noisy_rows.hpp"

using namespace nlsq;

namespace {

constexpr double kOffset = 1.7e9, kLastDigit = 0x1p-22;
constexpr const char* kWave = "c+a*sin(2.5*x)+b*cos(2.5*x)";
const NamedValues kStart{{"c", kOffset + 0.4}, {"a", 2.0}, {"b", 1.0}};

using Row = std::array<long double, 3>;

// Holds a wave of known frequency on the offset, and the exact minimum by the normal equations in long
// double.
struct Wave {
  std::vector<double> x, y;

  Wave(double digits, int rows, unsigned seed) {
    NoisyRows drawn = noisy_rows(rows, digits * kLastDigit, seed, [](long double at) {
      return kOffset + (0.3L + 3 * std::sin(2.5L * at) + 1.2L * std::cos(2.5L * at));
    });
    x = std::move(drawn.x);
    y = std::move(drawn.y);
  }

  // Returns the distance of (c, a, b) from the minimum in standard errors. The offset is first taken from y,
  // exactly.
  double distance(const std::vector<double>& p) const {
    const Row given{p[0] - static_cast<long double>(kOffset), p[1], p[2]};
    std::array<std::array<long double, 4>, 3> sums{};
    long double cost = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Row row = row_at(i);
      const long double r = left_of(i, given);
      cost += r * r;
      for (std::size_t j = 0; j < 3; ++j) {
        for (std::size_t k = 0; k < 3; ++k) sums[j][k] += row[j] * row[k];
        sums[j][3] += row[j] * r;
      }
    }
    const long double fall = explained(sums);
    const long double variance = (cost - fall) / static_cast<long double>(x.size() - 3);
    return static_cast<double>(std::sqrt(fall / variance));
  }

 private:
  Row row_at(std::size_t i) const { return {1, std::sin(2.5L * x[i]), std::cos(2.5L * x[i])}; }
  long double left_of(std::size_t i, const Row& p) const {
    const Row row = row_at(i);
    return (y[i] - static_cast<long double>(kOffset)) - p[0] - p[1] * row[1] - p[2] * row[2];
  }
  // Returns gᵀ H⁻¹ g by Gaussian elimination, which is the decrease of r² to the minimum.
  static long double explained(std::array<std::array<long double, 4>, 3> sums) {
    long double fall = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      fall += sums[k][3] * sums[k][3] / sums[k][k];
      for (std::size_t j = k + 1; j < 3; ++j) {
        const long double factor = sums[j][k] / sums[k][k];
        for (std::size_t c = k; c < 4; ++c) sums[j][c] -= factor * sums[k][c];
      }
    }
    return fall;
  }
};

constexpr int kDraws = 40;
Wave drawn(double digits, int draw) {
  return {digits, 10 + 30 * (draw % 4), 100 + static_cast<unsigned>(draw)};
}

}  // namespace

TEST_CASE("with noise of some last digits beside an offset, certified points are minima") {
  constexpr double kClaimed = 0.1, kOfMeasurement = 0.05;
  for (const double digits : {4.0, 10.0, 40.0, 130.0}) {
    CAPTURE(digits);
    int certified = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const Wave data = drawn(digits, draw);
      const FitResult fit = curve_fit(kWave, data.x, data.y, kStart);
      if (!fit.success()) continue;
      ++certified;
      CAPTURE(draw);
      CHECK(data.distance(fit.parameters) <= kClaimed + kOfMeasurement);
    }
    if (digits >= 40) CHECK(certified >= 0.8 * kDraws);
  }
}

TEST_CASE("residuals that are rounding alone beside an offset are certified") {
  for (int draw = 0; draw < kDraws; ++draw) {
    const Wave data = drawn(0, draw);
    CAPTURE(draw);
    CHECK(curve_fit(kWave, data.x, data.y, kStart).success());
  }
}

TEST_CASE("exact data are certified, with few rows or many") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const int rows : {2, 3, 4, 6, 9, 14, 42}) {
    CAPTURE(rows);
    int certified = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const double a = std::pow(10, 12 * uniform(random) - 6), b = 0.5 + uniform(random);
      std::vector<double> x, y;
      for (int i = 0; i < rows; ++i) {
        x.push_back(0.3 + 2.5 * i / rows + 0.1 * uniform(random));
        y.push_back(a * std::pow(x.back(), b));
      }
      certified += curve_fit("a*x^b", x, y, {{"a", a}, {"b", 1}}).success() ? 1 : 0;
    }
    CHECK(certified == kDraws);
  }
}

TEST_CASE("fits in lanes certify no more beside an offset than single fits do") {
  constexpr int kRows = 40;
  Matrix y(kDraws, kRows), start(1, 3);
  std::vector<Wave> data;
  for (std::size_t k = 0; k < kDraws; ++k) {
    data.emplace_back(4, kRows, static_cast<unsigned>(k));
    for (std::size_t i = 0; i < kRows; ++i) y(k, i) = data[k].y[i];
  }
  for (std::size_t j = 0; j < 3; ++j) start(0, j) = kStart[j].second;
  const BatchResult fits = curve_fit_batch(kWave, data[0].x, y, start);
  for (std::size_t k = 0; k < kDraws; ++k) {
    if (!is_success(fits.verdict[k])) continue;
    CAPTURE(k);
    CHECK(data[k].distance({fits.parameters(k, 0), fits.parameters(k, 1), fits.parameters(k, 2)}) <= 0.15);
  }
}
