// Implements fit_exponential().
#include "models/guesses/exponential_fit.hpp"

#include "models/guesses/exp_in_place.hpp"
#include "models/guesses/separable.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace nlsq::inline v0::guessing {
namespace {

// The search is over q with rate = kUnit sinh(q): logarithmic for fast rates of either sign, linear about 0.
// Decay is measured from the first t, growth from the last.
constexpr double kUnit = 0.1;
constexpr double kFirstTried = 0.03;  // rates of the starts are this one times powers of 2, up to 983
constexpr std::size_t kRates = 16;
constexpr double kLeast = 1e-148;  // exponentials are not smaller, so that no square underflows

double rate_of(double q) {
  const double rate = kUnit * std::sinh(q);
  return std::abs(rate) < kSlowestRate ? std::copysign(kSlowestRate, rate) : rate;
}

// Returns the sums of e, e^2 and e z, and replaces e by its square. `n` is even: even and odd rows share
// vector instructions.
std::array<double, 3> sums_and_square(double* e, const double* z, std::size_t n) {
  typedef double Pair __attribute__((vector_size(16)));
  Pair sum = {}, square = {}, product = {};
  for (std::size_t i = 0; i < n; i += 2) {
    Pair value, response;
    std::memcpy(&value, e + i, sizeof value);
    std::memcpy(&response, z + i, sizeof response);
    const Pair squared = value * value, next = squared > kLeast ? squared : Pair{kLeast, kLeast};
    sum += value;
    square += squared;
    product += value * response;
    std::memcpy(e + i, &next, sizeof next);
  }
  return {sum[0] + sum[1], square[0] + square[1], product[0] + product[1]};
}

// The same sums with the factor v for each row; z has it already.
std::array<double, 3> weighted_sums_and_square(double* e, const double* z, std::span<const double> v) {
  std::array<double, 3> sums{};
  for (std::size_t i = 0; i < v.size(); ++i) {
    sums[0] += v[i] * e[i];
    sums[1] += v[i] * e[i] * e[i];
    sums[2] += z[i] * e[i];
    e[i] = std::max(e[i] * e[i], kLeast);
  }
  return sums;
}

// Sums of squares of the best fits at the rates sign * kFirstTried * 2^k not above `fastest`. Each
// exponential is the square of the one before, so that only the first of them is computed by exp.
std::vector<Tried> tried_rates(std::span<const double> u, std::span<const double> y,
                               std::span<const double> weight, bool offset, double sign, double fastest) {
  const std::size_t n = u.size(), padded = n + n % 2;
  std::vector<double> v;  // squares of the weights
  for (const double w : weight) v.push_back(w * w);
  const double rows = v.empty() ? static_cast<double>(n) : std::accumulate(v.begin(), v.end(), 0.0);
  const double sum_y = v.empty() ? std::accumulate(y.begin(), y.end(), 0.0)
                                 : std::inner_product(y.begin(), y.end(), v.begin(), 0.0);
  const double level = offset ? sum_y / rows : 0.0;
  std::vector<double> e(padded, -340), z(padded);  // exp(-340) is too small to count
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    e[i] = -kFirstTried * (sign > 0 ? u[i] : 1 - u[i]);
    const double deviation = y[i] - level;
    z[i] = v.empty() ? deviation : v[i] * deviation;
    squares += z[i] * deviation;
  }
  exp_in_place(e);
  static const std::array<double, kRates> q = [] {
    std::array<double, kRates> values;
    for (std::size_t k = 0; k < kRates; ++k)
      values[k] = std::asinh(std::ldexp(kFirstTried, static_cast<int>(k)) / kUnit);
    return values;
  }();
  std::vector<Tried> tried;
  tried.reserve(2 * kRates);
  for (std::size_t k = 0; k < kRates && std::ldexp(kFirstTried, static_cast<int>(k)) <= fastest; ++k) {
    const auto [sum, square, product] = v.empty() ? sums_and_square(e.data(), z.data(), padded)
                                                  : weighted_sums_and_square(e.data(), z.data(), v);
    const double scatter = offset ? square - sum * sum / rows : square;
    const double rss = scatter > 0 ? std::max(0.0, squares - product * product / scatter) : squares;
    if (std::isfinite(rss)) tried.push_back({sign * q[k], rss});
  }
  return tried;
}

}  // namespace

double fastest_rate(std::span<const double> u) {
  double first_gap = 1, last_gap = 1;
  for (const double value : u) {
    if (value > 0) first_gap = std::min(first_gap, value);
    if (value < 1) last_gap = std::min(last_gap, 1 - value);
  }
  return 8 / std::max(std::min(first_gap, last_gap), 1e-6);
}

ExponentialFit fit_exponential(const Sample& sample, std::span<const double> t, bool offset) {
  const std::size_t n = t.size();
  const std::vector<double>& y = sample.y;
  const auto [low, high] = std::minmax_element(t.begin(), t.end());
  const double first = *low, last = *high, span = last > first ? last - first : 1.0;
  // If y is constant, all rates fit alike. The fastest would be chosen, and it leads to overflows.
  if (sample.flat() && (offset || y[0] == 0)) return {0, 1 / span, offset ? y[0] : 0};
  std::vector<double> u(n);
  for (std::size_t i = 0; i < n; ++i) u[i] = (t[i] - first) / span;
  const double fastest = fastest_rate(u), limit = std::asinh(fastest / kUnit);
  Separable problem(sample, u, offset ? 2 : 1, {-limit}, {limit});
  problem.basis = [offset](std::span<const double> at, std::span<const double> q, double* columns) {
    const double rate = rate_of(q[0]), origin = rate > 0 ? 0.0 : 1.0;
    const std::size_t rows = at.size();
    for (std::size_t i = 0; i < rows; ++i) columns[i] = -rate * (at[i] - origin);
    exp_in_place({columns, rows});
    if (offset) std::fill(columns + rows, columns + 2 * rows, 1.0);
  };
  std::vector<Tried> tried = tried_rates(u, y, sample.weight, offset, -1, fastest);
  std::reverse(tried.begin(), tried.end());
  for (const Tried& one : tried_rates(u, y, sample.weight, offset, 1, fastest)) tried.push_back(one);
  const Solution best = best_of_line(problem, tried);
  const double rate = rate_of(best.q[0]);
  ExponentialFit fit;
  fit.rate = rate / span;
  fit.a = best.c[0] * std::exp(fit.rate * (rate > 0 ? first : last));
  fit.c = offset ? best.c[1] : 0.0;
  return fit;
}

}  // namespace nlsq::inline v0::guessing
