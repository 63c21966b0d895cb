// Implements fit_exponential().
#include "models/guesses/exponential_fit.hpp"

#include "models/guesses/exp_in_place.hpp"
#include "models/guesses/separable.hpp"
#include "models/guesses/wide_vectors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
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

// The array holds four rows of the growing exponential, then the same rows of the decaying one, and so on.
// Both are summed in one loop, in which no sum waits for another.
constexpr std::size_t kTogether = 4;

std::size_t place_of(std::size_t row, bool decay) {
  return (row / kTogether * 2 + (decay ? 1 : 0)) * kTogether + row % kTogether;
}

// Sums of e, e^2 and e z over the rows.
struct Sums {
  double value = 0, square = 0, product = 0;
};
using BothSums = std::array<Sums, 2>;  // of growth and of decay

// Finds the sums, and replaces e by its square. The number of rows is a multiple of kTogether.
[[gnu::always_inline]] inline void sum_and_square(std::span<double> e, std::span<const double> z,
                                                  BothSums& sums) {
  typedef double Four __attribute__((vector_size(8 * kTogether)));
  constexpr Four least = {kLeast, kLeast, kLeast, kLeast};
  Four value[2] = {}, square[2] = {}, product[2] = {};
  for (std::size_t i = 0; i < z.size(); i += kTogether) {
    Four response;
    std::memcpy(&response, &z[i], sizeof response);
    for (std::size_t k = 0; k < 2; ++k) {
      double* const at = &e[2 * i + kTogether * k];
      Four now;
      std::memcpy(&now, at, sizeof now);
      const Four squared = now * now, next = squared > least ? squared : least;
      value[k] += now;
      square[k] += squared;
      product[k] += now * response;
      std::memcpy(at, &next, sizeof next);
    }
  }
  const auto total = [](const Four& four) { return (four[0] + four[1]) + (four[2] + four[3]); };
  for (std::size_t k = 0; k < 2; ++k) sums[k] = {total(value[k]), total(square[k]), total(product[k])};
}

NLSQ_WIDE_VECTORS void sum_and_square_wide(std::span<double> e, std::span<const double> z, BothSums& sums) {
  sum_and_square(e, z, sums);
}

BothSums sums_and_square(std::vector<double>& e, const std::vector<double>& z) {
  BothSums sums;
  if (has_wide_vectors()) sum_and_square_wide(e, z, sums);
  else sum_and_square(e, z, sums);
  return sums;
}

// The same sums with the factor v for each row; z has it already.
BothSums weighted_sums_and_square(std::vector<double>& e, const std::vector<double>& z,
                                  std::span<const double> v) {
  BothSums sums{};
  for (const bool decay : {false, true}) {
    Sums& sum = sums[decay ? 1 : 0];
    for (std::size_t i = 0; i < v.size(); ++i) {
      double& value = e[place_of(i, decay)];
      sum.value += v[i] * value;
      sum.square += v[i] * value * value;
      sum.product += z[i] * value;
      value = std::max(value * value, kLeast);
    }
  }
  return sums;
}

// Tries the rates kFirstTried * 2^k up to `fastest`, and their negatives. Returns them in ascending order,
// each with the sum of squares of the best fit at this rate. Each exponential is the square of the one
// before, so exp is called only for the first.
std::vector<Tried> tried_rates(std::span<const double> u, std::span<const double> y,
                               std::span<const double> weight, bool offset, double fastest) {
  const std::size_t n = u.size(), padded = (n + kTogether - 1) / kTogether * kTogether;
  std::vector<double> v;  // squares of the weights
  for (const double w : weight) v.push_back(w * w);
  const double rows = v.empty() ? static_cast<double>(n) : std::accumulate(v.begin(), v.end(), 0.0);
  const double sum_y = v.empty() ? std::accumulate(y.begin(), y.end(), 0.0)
                                 : std::inner_product(y.begin(), y.end(), v.begin(), 0.0);
  const double level = offset ? sum_y / rows : 0.0;
  std::vector<double> e(2 * padded, kLeast), z(padded);
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) z[i] = -kFirstTried * u[i];
  exp_in_place(std::span(z).first(n));
  const double whole = std::exp(-kFirstTried);
  for (std::size_t i = 0; i < n; ++i) {
    e[place_of(i, false)] = whole / z[i];
    e[place_of(i, true)] = z[i];
    const double deviation = y[i] - level;
    z[i] = v.empty() ? deviation : v[i] * deviation;
    squares += z[i] * deviation;
  }
  static const std::array<double, kRates> q = [] {
    std::array<double, kRates> values;
    for (std::size_t k = 0; k < kRates; ++k)
      values[k] = std::asinh(std::ldexp(kFirstTried, static_cast<int>(k)) / kUnit);
    return values;
  }();
  std::array<Tried, 2 * kRates> all;
  std::size_t count = 0;
  for (double rate = kFirstTried; count < kRates && rate <= fastest; ++count, rate *= 2) {
    const BothSums sums = v.empty() ? sums_and_square(e, z) : weighted_sums_and_square(e, z, v);
    const auto tried = [&](double at, const Sums& sum) {
      const double scatter = offset ? sum.square - sum.value * sum.value / rows : sum.square;
      const double rss = scatter > 0 ? std::max(0.0, squares - sum.product * sum.product / scatter) : squares;
      return Tried{at, rss};
    };
    all[kRates - 1 - count] = tried(-q[count], sums[0]);
    all[kRates + count] = tried(q[count], sums[1]);
  }
  std::vector<Tried> finite;
  std::copy_if(all.begin() + (kRates - count), all.begin() + (kRates + count), std::back_inserter(finite),
               [](const Tried& one) { return std::isfinite(one.rss); });
  return finite;
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
  const Solution best = best_of_line(problem, tried_rates(u, y, sample.weight, offset, fastest));
  const double rate = rate_of(best.q[0]);
  ExponentialFit fit;
  fit.rate = rate / span;
  fit.a = best.c[0] * std::exp(fit.rate * (rate > 0 ? first : last));
  fit.c = offset ? best.c[1] : 0.0;
  return fit;
}

}  // namespace nlsq::inline v0::guessing
