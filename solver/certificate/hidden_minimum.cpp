// Implements withdraw_hidden().
#include "certificate/hidden_minimum.hpp"

#include "certificate/certificate.hpp"
#include "dense/data_survey.hpp"
#include "linear/weighted_rows.hpp"

#include "support/column_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace nlsq::inline v0 {

namespace {

// Returns the middle of a predictor's range if its values are far from 0 beside that range.
std::optional<double> far_from_zero(const RowSource& data, int column) {
  constexpr double kFar = 10;
  std::vector<double> block(ScatterSums::most);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t first = 0; first < data.rows(); first += block.size()) {
    const std::size_t count = std::min(block.size(), data.rows() - first);
    data.read(first, count, column, block.data());
    for (std::size_t i = 0; i < count; ++i) low = std::min(low, block[i]), high = std::max(high, block[i]);
  }
  const double middle = std::midpoint(low, high);
  if (!(std::fabs(middle) > kFar * (high - low))) return std::nullopt;
  return middle;
}

}  // namespace

double share_explained_of_most(std::span<const double> y, std::span<const double> sigma, double squares) {
  if (y.empty()) return 1;
  std::vector<double> sorted(y.begin(), y.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  const double median = *middle;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double off = (y[i] - median) / (sigma.empty() ? 1 : sigma[i]);
    sorted[i] = off * off;
  }
  std::ranges::sort(sorted);
  sorted.resize(sorted.size() - std::max<std::size_t>(1, sorted.size() / 10));
  const double most = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  return most > 0 ? 1 - squares / most : 1;
}

double share_explained_of_most(const RowSource& data, int predictors, bool weighted, double squares) {
  std::vector<double> y(data.rows()), sigma(weighted ? data.rows() : 0);
  data.read(0, y.size(), predictors, y.data());
  if (weighted) data.read(0, sigma.size(), predictors + 1, sigma.data());
  return share_explained_of_most(y, sigma, squares);
}

bool hides_minimum(const Certificate& certificate, double r_squared, const std::function<double()>& of_most) {
  const auto hidden = [&](double explained) { return is_hidden_by_rounding(certificate, explained); };
  return hidden(r_squared) || (hidden(0) && hidden(of_most()));
}

double doubtful_spread(const Certificate& certificate, std::span<const double> parameters,
                       std::span<const double> standard_errors) {
  constexpr double kLastDigits = 4 * kUnitRoundoff, kHidesRank = 1e10;
  if (!is_success(certificate.verdict)) return std::numeric_limits<double>::infinity();
  if (is_hidden_by_rounding(certificate, 0)) return kHeavyRows;
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    const double error = standard_errors[j];
    if (error > 0 && kNearInNoise * error < kLastDigits * std::fabs(parameters[j])) return kHeavyRows;
  }
  return certificate.verdict == Verdict::rank_deficient ? kHidesRank
                                                        : std::numeric_limits<double>::infinity();
}

bool outweighed(const RowModel& rows, std::span<const double> x, const Column& sigma, double spread) {
  if (std::isinf(spread)) return false;
  double least = std::numeric_limits<double>::infinity(), most = 0, squares = 0, squares_of_terms = 0;
  for_blocks(sigma, [&](std::size_t, std::span<const double> values) {
    least = std::min(least, std::ranges::min(values)), most = std::max(most, std::ranges::max(values));
  });
  if (!(most > spread * least)) return false;
  std::vector<double> residuals, sizes;
  for_blocks(sigma, [&](std::size_t first, std::span<const double> values) {
    residuals.resize(values.size()), sizes.resize(values.size());
    rows.reference_residuals(x, first, values.size(), residuals.data(), sizes.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double r = residuals[i] * values[i], terms = sizes[i] * values[i];
      squares += r * r, squares_of_terms += terms * terms;
    }
  });
  return std::sqrt(squares) > kVanishing * std::sqrt(squares_of_terms);
}

void withdraw_hidden(FitResult& fit, const std::function<double()>& of_most,
                     const std::function<bool(double)>& is_outweighed) {
  Summary& s = fit.summary;
  const bool hidden = hides_minimum(s.certificate, fit.r_squared, of_most);
  if (!hidden && !is_outweighed(doubtful_spread(s.certificate, fit.parameters, fit.standard_errors))) return;
  s.verdict = s.certificate.verdict = Verdict::budget;
  s.certificate.passed = false;
  s.termination = Termination::no_progress;
  s.message = hidden ? kHiddenMinimum : kOutweighed;
}

std::vector<std::string> advice_on_origin(const RowSource& data, int predictors) {
  std::vector<std::string> out;
  for (int k = 0; k < predictors; ++k) {
    const std::optional<double> middle = far_from_zero(data, k);
    if (!middle) continue;
    const std::string name = predictors == 1 ? "x" : fmt::format("x{}", k + 1);
    out.push_back(
        fmt::format("{0} is far from 0 beside its range: fit {0} - {1:.10g} in its place", name, *middle));
  }
  return out;
}

}  // namespace nlsq::inline v0
