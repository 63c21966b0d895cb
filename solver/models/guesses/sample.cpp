// Draws the sample of rows from which a built-in model computes its first guess.
#include "models/guesses/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace nlsq::inline v0::guessing {
namespace {

// Picks a row of stratum k of n/strata rows by a hash (the splitmix64 finaliser). A constant stride would
// alias oscillations.
std::size_t pick_row(std::size_t stratum, std::size_t strata, std::size_t n) {
  const std::size_t first = static_cast<std::size_t>(static_cast<double>(stratum) * static_cast<double>(n) /
                                                     static_cast<double>(strata));
  const std::size_t last = static_cast<std::size_t>(static_cast<double>(stratum + 1) *
                                                    static_cast<double>(n) / static_cast<double>(strata));
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
    throw DataError(fmt::format("the model takes {} predictor{}, {} given", predictors,
                                predictors == 1 ? "" : "s", x.size()));
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k].size() != y.size())
      throw DataError(fmt::format("x has {} rows, y has {}", x[k].size(), y.size()), DataError::npos, k);
}

// Larger values are left out, because their squares and spans would overflow.
constexpr double kLargest = 1e150;

bool usable(std::span<const std::span<const double>> x, std::span<const double> y, std::size_t row) {
  bool finite = std::abs(y[row]) < kLargest;  // false for NaN
  for (const auto& column : x) finite = finite && std::abs(column[row]) < kLargest;
  return finite;
}

Sample gather(const Source& source, std::vector<std::size_t> rows) {
  const auto x = source.x[0];
  const auto before = [&](std::size_t i, std::size_t j) { return x[i] != x[j] ? x[i] < x[j] : i < j; };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) std::sort(rows.begin(), rows.end(), before);
  Sample sample;
  sample.x.reserve(rows.size());
  sample.y.reserve(rows.size());
  for (const std::size_t row : rows) {
    sample.x.push_back(x[row]);
    if (source.x.size() > 1) sample.x2.push_back(source.x[1][row]);
    sample.y.push_back(source.y[row]);
  }
  if (!rows.empty()) sample.measure();
  return sample;
}

struct FirstLook {
  Sample sample;
  std::size_t outside = 0;  // sampled rows outside the domain of the model
};

FirstLook first_look(const Source& source) {
  const std::size_t n = source.y.size(), strata = std::min(n, source.most);
  FirstLook look;
  std::vector<std::size_t> rows;
  rows.reserve(strata);
  for (std::size_t k = 0; k < strata; ++k) {
    const std::size_t row = strata == n ? k : pick_row(k, strata, n);
    if (!usable(source.x, source.y, row)) continue;
    if (in_domain(source.x[0][row], source.domain)) rows.push_back(row);
    else ++look.outside;
  }
  look.sample = gather(source, std::move(rows));
  return look;
}

std::string complaint(const FirstLook& look, std::size_t parameters, Domain domain) {
  const Sample& sample = look.sample;
  if (sample.rows() == 0)
    return domain != Domain::all && look.outside > 0
               ? fmt::format("no rows with x {} 0: the guess is a formality",
                             domain == Domain::positive ? ">" : ">=")
               : fmt::format(
                     "no rows with finite values below {:g}: the guess is a formality. Give larger "
                     "values in other units, near 1",
                     kLargest);
  if (sample.one_x()) return fmt::format("every x is {}: the guess is a formality", sample.x.front());
  if (sample.flat() && parameters > 1)
    return fmt::format("y does not vary (it is {} throughout): the guess is a formality", sample.y_mean);
  if (sample.rows() < parameters)
    return fmt::format("{} rows for {} parameters: the guess is one of many", sample.rows(), parameters);
  if (look.outside > 0)
    return fmt::format("the guess leaves out rows with x {} 0, where the model may be undefined",
                       domain == Domain::positive ? "<=" : "<");
  return {};
}

// Rows with x in [low, high]: an index range if x ascends, otherwise all rows.
std::pair<std::size_t, std::size_t> index_range(const Source& source, double low, double high) {
  const auto x = source.x[0];
  if (!source.sorted) return {0, x.size()};
  return {static_cast<std::size_t>(std::lower_bound(x.begin(), x.end(), low) - x.begin()),
          static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), high) - x.begin())};
}

}  // namespace

void Sample::measure() {
  x_min = x.front();
  span = one_x() ? 1.0 : x.back() - x.front();
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  y_min = *low;
  y_max = *high;
  y_mean = 0;
  for (std::size_t i = 0; i < rows(); ++i) y_mean += (y[i] - y_mean) / static_cast<double>(i + 1);
}

Sample Source::pick(double low, double high) const {
  const auto [first, last] = index_range(*this, low, high);
  std::vector<std::size_t> inside;
  for (std::size_t i = first; i < last; ++i)
    if (x[0][i] >= low && x[0][i] <= high && usable(x, y, i) && in_domain(x[0][i], domain))
      inside.push_back(i);
  std::vector<std::size_t> rows;
  const std::size_t strata = std::min(most, inside.size());
  for (std::size_t k = 0; k < strata; ++k)
    rows.push_back(inside[strata == inside.size() ? k : pick_row(k, strata, inside.size())]);
  return gather(*this, std::move(rows));
}

Sample Source::average(double low, double high) const {
  const auto [first, last] = index_range(*this, low, high);
  std::vector<double> count(most), sum_x(most), sum_y(most);
  const double cells_per_x = static_cast<double>(most) / (high > low ? high - low : 1.0);
  for (std::size_t i = first; i < last; ++i) {
    const double at = x[0][i];
    if (!(at >= low && at <= high) || !usable(x, y, i) || !in_domain(at, domain)) continue;
    const std::size_t cell = std::min(most - 1, static_cast<std::size_t>((at - low) * cells_per_x));
    count[cell] += 1;
    sum_x[cell] += at - low;
    sum_y[cell] += y[i];
  }
  Sample sample;
  for (std::size_t cell = 0; cell < most; ++cell) {
    if (count[cell] == 0) continue;
    sample.x.push_back(low + sum_x[cell] / count[cell]);
    sample.y.push_back(sum_y[cell] / count[cell]);
  }
  if (sample.rows() > 0) sample.measure();
  return sample;
}

bool Sample::flat() const {
  return y_max - y_min <=
         8 * std::numeric_limits<double>::epsilon() * std::max(std::abs(y_max), std::abs(y_min));
}

std::vector<double> Sample::unit_x() const {
  std::vector<double> u(rows());
  for (std::size_t i = 0; i < rows(); ++i) u[i] = (x[i] - x_min) / span;
  return u;
}

std::function<Guess(std::span<const std::span<const double>>, std::span<const double>)> sampled(
    int predictors, std::size_t parameters, Domain domain, std::size_t most, GuessRule rule) {
  return [=](std::span<const std::span<const double>> x, std::span<const double> y) {
    check_sizes(predictors, x, y);
    Source source{x, y, domain, most};
    FirstLook look = first_look(source);
    Guess guess;
    guess.warning = complaint(look, parameters, domain);
    Sample& sample = look.sample;
    if (sample.rows() == 0) {  // values of ordinary size for the rule
      sample.x = {1, 2};
      sample.y = {1, 1};
      sample.x2.assign(predictors > 1 ? 2 : 0, 1.0);
      sample.measure();
    } else if (y.size() > most) {
      source.sorted = std::is_sorted(x[0].begin(), x[0].end());
      sample.source = &source;
    }
    guess.values = rule(sample);
    for (double& value : guess.values)
      if (!std::isfinite(value)) value = std::isnan(value) ? 1.0 : std::copysign(1e100, value);
    return guess;
  };
}

}  // namespace nlsq::inline v0::guessing
