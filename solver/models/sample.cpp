#include "sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace nlsq::inline v0::guessing {
namespace {

// A row of stratum k of n/strata rows, chosen by a hash (splitmix64's finaliser): a constant stride
// would alias oscillations.
std::size_t pick_row(std::size_t stratum, std::size_t strata, std::size_t n) {
  const std::size_t first = static_cast<std::size_t>(static_cast<double>(stratum) * static_cast<double>(n) /
                                                     static_cast<double>(strata));
  const std::size_t last = static_cast<std::size_t>(static_cast<double>(stratum + 1) * static_cast<double>(n) /
                                                    static_cast<double>(strata));
  std::uint64_t z = stratum + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return std::min(n - 1, first + static_cast<std::size_t>(z % std::max<std::size_t>(1, last - first)));
}

bool in_domain(double x, Domain domain) {
  return domain == Domain::all || x > 0 || (domain == Domain::non_negative && x == 0);
}

void check_sizes(int predictors, std::span<const std::span<const double>> x, std::span<const double> y) {
  if (x.size() != static_cast<std::size_t>(predictors))
    throw DataError(fmt::format("the model takes {} predictor{}, {} given", predictors, predictors == 1 ? "" : "s",
                                x.size()));
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k].size() != y.size())
      throw DataError(fmt::format("x has {} rows, y has {}", x[k].size(), y.size()), DataError::npos, k);
}

void measure(Sample& sample) {
  sample.x_min = sample.x.front();
  sample.span = sample.one_x() ? 1.0 : sample.x.back() - sample.x.front();
  const auto [low, high] = std::minmax_element(sample.y.begin(), sample.y.end());
  sample.y_min = *low;
  sample.y_max = *high;
  sample.y_mean = 0;
  for (std::size_t i = 0; i < sample.rows(); ++i)  // running mean: no overflow
    sample.y_mean += (sample.y[i] - sample.y_mean) / static_cast<double>(i + 1);
}

// Values beyond these are left out: their squares and spans would overflow.
constexpr double kLargest = 1e150;

struct Outside {
  std::size_t domain = 0;  // sampled rows outside the model's domain
};

Sample take(std::span<const std::span<const double>> x, std::span<const double> y, Domain domain, std::size_t most,
            Outside& outside) {
  const std::size_t n = y.size();
  const std::size_t strata = std::min(n, most);
  std::vector<std::size_t> rows;
  rows.reserve(strata);
  for (std::size_t k = 0; k < strata; ++k) {
    const std::size_t row = strata == n ? k : pick_row(k, strata, n);
    bool usable = std::abs(y[row]) < kLargest;  // false for NaN
    for (const auto& column : x) usable = usable && std::abs(column[row]) < kLargest;
    if (usable && !in_domain(x[0][row], domain)) {
      ++outside.domain;
      usable = false;
    }
    if (usable) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [&](std::size_t i, std::size_t j) {
    return x[0][i] != x[0][j] ? x[0][i] < x[0][j] : i < j;
  });
  Sample sample;
  for (const std::size_t row : rows) {
    sample.x.push_back(x[0][row]);
    if (x.size() > 1) sample.x2.push_back(x[1][row]);
    sample.y.push_back(y[row]);
  }
  return sample;
}

std::string complaint(const Sample& sample, std::size_t parameters, Domain domain, const Outside& outside) {
  if (sample.rows() == 0)
    return domain != Domain::all && outside.domain > 0
               ? fmt::format("no rows with x {} 0: the guess is a formality",
                             domain == Domain::positive ? ">" : ">=")
               : "no finite rows: the guess is a formality";
  if (sample.one_x()) return fmt::format("every x is {}: the guess is a formality", sample.x.front());
  if (sample.flat() && parameters > 1)
    return fmt::format("y does not vary (it is {} throughout): the guess is a formality", sample.y_mean);
  if (sample.rows() < parameters)
    return fmt::format("{} rows for {} parameters: the guess is one of many", sample.rows(), parameters);
  if (outside.domain > 0)
    return fmt::format("rows with x {} 0 lie outside the model's domain: the guess ignores them",
                       domain == Domain::positive ? "<=" : "<");
  return {};
}

}  // namespace

bool Sample::flat() const {
  return y_max - y_min <= 8 * std::numeric_limits<double>::epsilon() * std::max(std::abs(y_max), std::abs(y_min));
}

std::vector<double> Sample::unit_x() const {
  std::vector<double> u(rows());
  for (std::size_t i = 0; i < rows(); ++i) u[i] = (x[i] - x_min) / span;
  return u;
}

std::function<Guess(std::span<const std::span<const double>>, std::span<const double>)> sampled(
    int predictors, std::size_t parameters, Domain domain, std::size_t most, Rule rule) {
  return [=](std::span<const std::span<const double>> x, std::span<const double> y) {
    check_sizes(predictors, x, y);
    Outside outside;
    Sample sample = take(x, y, domain, most, outside);
    Guess guess;
    guess.warning = complaint(sample, parameters, domain, outside);
    if (sample.rows() == 0) {  // something of ordinary size to work on
      sample.x = {1, 2};
      sample.y = {1, 1};
      sample.x2.assign(predictors > 1 ? 2 : 0, 1.0);
    }
    measure(sample);
    guess.values = rule(sample);
    for (double& value : guess.values)
      if (!std::isfinite(value)) value = std::isnan(value) ? 1.0 : std::copysign(1e100, value);
    return guess;
  };
}

}  // namespace nlsq::inline v0::guessing
