// Tests whether rounding errors hide where the minimum is.
#include "certificate/hidden_minimum.hpp"

#include "certificate/certificate.hpp"
#include "certificate/doubtful_end.hpp"
#include "dense/dense_algebra.hpp"
#include "dense/row_groups.hpp"
#include "linear/weighted_rows.hpp"

#include "support/column_blocks.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr double kHidesRank = 1e10;  // the ratio of weights from which on rows of little weight seem to be 0

// Returns the middle of a predictor's range if its values are far from 0 beside that range.
std::optional<double> far_from_zero(const RowSource& data, int column) {
  constexpr double kFar = 10;
  const auto [low, high] = range_of(Column(data, static_cast<std::size_t>(column)));
  const double middle = std::midpoint(low, high);
  if (!(std::fabs(middle) > kFar * (high - low))) return std::nullopt;
  return middle;
}

// Computes the first-order terms Σ |J_ij| size_j of each row of a tile. They grow with the weight of a row.
void terms_of_tile(const RowModel& rows, std::span<const double> x, const double* const* columns,
                   std::size_t count, std::vector<double>& terms) {
  terms.assign(count, 0.0);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double size = rows.size_of(j, x[j]);
    for (std::size_t i = 0; i < count; ++i) terms[i] += std::fabs(columns[j][i]) * size;
  }
}

}  // namespace

double NormOfMost::without(std::size_t largest) const {
  double squares = 0;
  for (auto alike = by_exponent_.rbegin(); alike != by_exponent_.rend(); ++alike) {
    const std::size_t out = std::min(largest, alike->second.count);
    largest -= out;
    squares += static_cast<double>(alike->second.count - out) / static_cast<double>(alike->second.count) *
               alike->second.squares;
  }
  return std::sqrt(squares);
}

bool goes_through_all_rows(std::size_t rows, int rank, double residual_norm, double data_norm) {
  return rows <= static_cast<std::size_t>(std::max(0, rank)) && residual_norm <= kHalfOfDigits * data_norm;
}

bool follows_to_last_digits(const RowModel& rows, std::span<const double> x, int rank) {
  constexpr std::size_t kBlock = 1024;
  std::vector<double> residuals(std::min(kBlock, rows.rows())), sizes(residuals.size());
  NormOfMost size;
  double squares = 0;
  for (std::size_t first = 0; first < rows.rows(); first += residuals.size()) {
    const std::size_t count = std::min(residuals.size(), rows.rows() - first);
    rows.reference_residuals(x, first, count, residuals.data(), sizes.data());
    for (std::size_t i = 0; i < count; ++i) {
      squares += residuals[i] * residuals[i];
      size.add(sizes[i]);
    }
  }
  const double norm = std::sqrt(squares);
  return norm <= kRoundingErrors * size.without_a_tenth() ||
         goes_through_all_rows(rows.rows(), rank, norm, size.without(0));
}

namespace {

// Returns the sizes of the parameters at x. If a parameter is a rounding error of its start, its value at the
// minimum is 0, as when points are registered with themselves. Then the start is its size.
std::vector<double> sizes_of_parameters(std::span<const double> x, std::span<const double> start) {
  std::vector<double> sizes(x.begin(), x.end());
  for (std::size_t j = 0; j < std::min(x.size(), start.size()); ++j)
    if (std::fabs(x[j]) <= kRoundingErrors * std::fabs(start[j])) sizes[j] = start[j];
  return sizes;
}

}  // namespace

bool follows_its_slopes(const RowModel& rows, std::span<const double> x, std::span<const double> x0,
                        int rank) {
  const std::vector<double> sizes = sizes_of_parameters(x, x0);
  constexpr double kDigits = 2 * kRoundingErrors;
  NormOfMost size;
  double squares = 0;  // of residuals above the last digits of their own rows
  for_each_tile(rows, x, [&](const TileRange& tile, const double* const* columns) {
    for (std::size_t i = 0; i < tile.count; ++i) {
      double slopes = 0;
      for (std::size_t j = 0; j < x.size(); ++j) slopes += columns[j][i] * sizes[j];
      const double residual = columns[x.size()][i];
      if (!(std::fabs(residual) <= kDigits * std::fabs(slopes))) squares += residual * residual;
      size.add(slopes);
    }
  });
  const double norm = std::sqrt(squares);
  return norm <= kDigits * size.without(std::min(x.size(), std::max<std::size_t>(1, rows.rows() / 10))) ||
         goes_through_all_rows(rows.rows(), rank, norm, size.without(0));
}

bool follows(const RowModel& rows, std::span<const double> x, std::span<const double> x0, const Column& y,
             int rank) {
  if (follows_to_last_digits(rows, x, rank)) return true;
  return is_zero(y) && (follows_its_slopes(rows, x, x0, rank) || vanish_beside_start(rows, x, x0));
}

namespace {

// Holds some rows of J at x, and their residuals.
struct RowsAt {
  std::vector<TileRange> groups;
  std::vector<double> J, residuals;  // J by columns
  double norm = 0, terms = 0;        // of the residuals, and of their terms to first order

  std::span<const double> column(std::size_t j) const {
    return std::span(J).subspan(j * residuals.size(), residuals.size());
  }
};

RowsAt some_rows_at(const RowModel& model, std::span<const double> x, std::span<const double> sizes) {
  constexpr std::size_t kMost = 4096;
  RowsAt out;
  out.groups = row_groups(model, kMost);
  std::size_t rows = 0;
  for (const TileRange& group : out.groups) rows += group.count;
  out.J.resize(rows * x.size());
  const std::unique_ptr<TilePass> pass = model.begin(x, Fill::jacobian_and_residual, false);
  KernelCounters counters;
  std::vector<double> terms;
  for (const TileRange& group : out.groups) {
    const double* const* columns = pass->fill_f64(group.first, group.count, counters);
    terms_of_tile(model, sizes, columns, group.count, terms);
    out.terms = std::hypot(out.terms, dense::norm(terms.data(), terms.size()));
    for (std::size_t j = 0; j < x.size(); ++j)
      std::copy_n(columns[j], group.count, &out.J[j * rows + out.residuals.size()]);
    out.residuals.insert(out.residuals.end(), columns[x.size()], columns[x.size()] + group.count);
  }
  out.norm = dense::norm(out.residuals.data(), rows);
  return out;
}

// Returns a step that moves the residuals by about `length`. It moves neighbouring parameters in opposite
// directions, and each by at most a millionth of its size.
Vector short_step(const RowModel& model, const RowsAt& at, std::span<const double> x,
                  std::span<const double> sizes, const Limits& limits, double length) {
  constexpr double kShort = 0x1p-20;
  Vector step(x.size(), 0.0);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double norm = dense::norm(at.column(j).data(), at.column(j).size());
    const double size = std::max(model.size_of(j, x[j]), std::fabs(sizes[j]));
    if (!(norm > 0)) continue;
    double by =
        std::min(length / norm / std::sqrt(static_cast<double>(x.size())), kShort * (size > 0 ? size : 1));
    if (j % 2 == 1) by = -by;
    if (!limits.allow(j, x[j] + by)) by = -by;
    if (limits.allow(j, x[j] + by)) step[j] = (x[j] + by) - x[j];
  }
  return step;
}

// Returns the norm of the sizes of some rows, without the largest tenth. The size of a row of a curve is
// |f| + |y|. For a function of residuals y is not known, so there it is the residual alone.
double size_of_data(const RowModel& rows, std::span<const double> x, std::span<const TileRange> groups) {
  NormOfMost size;
  std::vector<double> residuals, sizes;
  for (const TileRange& group : groups) {
    residuals.resize(group.count), sizes.resize(group.count);
    rows.reference_residuals(x, group.first, group.count, residuals.data(), sizes.data());
    for (const double one : sizes) size.add(one);
  }
  return size.without_a_tenth();
}

}  // namespace

bool rounds_inside(const RowModel& rows, std::span<const double> x, std::span<const double> x0,
                   const Limits& limits, double most) {
  constexpr double kRoundings = 8;
  if (rows.rows() <= x.size()) return false;
  const std::vector<double> sizes = sizes_of_parameters(x, x0);
  const RowsAt at = some_rows_at(rows, x, sizes);
  const Vector step = short_step(rows, at, x, sizes, limits, std::max(at.norm, kRoundings * most * at.terms));
  Vector there(x.begin(), x.end());
  for (std::size_t j = 0; j < x.size(); ++j) there[j] += step[j];
  const std::unique_ptr<TilePass> pass = rows.begin(there, Fill::residual, false);
  KernelCounters counters;
  NormOfMost off;  // leaves out the few rows that a kink in the function changes
  std::size_t row = 0;
  for (const TileRange& group : at.groups) {
    const double* const* columns = pass->fill_f64(group.first, group.count, counters);
    for (std::size_t i = 0; i < group.count; ++i, ++row) {
      double straight = at.residuals[row];
      for (std::size_t j = 0; j < x.size(); ++j) straight += at.column(j)[row] * step[j];
      off.add(std::fabs(columns[x.size()][i] - straight));
    }
  }
  const double rounding = off.without_a_tenth(), parameters = static_cast<double>(x.size());
  return rounding > most * at.terms && std::sqrt(parameters) * rounding > kNearInNoise * at.norm &&
         rounding > kRoundingErrors * size_of_data(rows, x, at.groups);
}

bool hides_minimum(const Certificate& certificate, EndByTwofold judged,
                   const std::function<bool()>& follows) {
  return judged == EndByTwofold::unknown && rests_on_rounding(certificate) && !follows();
}

bool is_below_spacing(double distance, double parameter) {
  constexpr double kLastDigits = 4 * kUnitRoundoff;
  return distance < kLastDigits * std::fabs(parameter);
}

double doubtful_spread(const Certificate& certificate, EndByTwofold judged,
                       std::span<const double> parameters, std::span<const double> standard_errors) {
  if (!is_success(certificate.verdict)) return kInfinity;
  if (judged == EndByTwofold::exact_data) return 1;
  if (rests_on_rounding(certificate)) return kHeavyRows;
  for (std::size_t j = 0; judged != EndByTwofold::near && j < parameters.size(); ++j) {
    const double error = standard_errors[j];
    if (error > 0 && is_below_spacing(kNearInNoise * error, parameters[j])) return kHeavyRows;
  }
  return certificate.verdict == Verdict::rank_deficient ? kHidesRank : kInfinity;
}

bool outweighed(const RowModel& rows, std::span<const double> x, const Column& sigma, double spread,
                std::span<const double> unexplained) {
  if (std::isinf(spread)) return false;
  const ColumnRange range = range_of(sigma);
  if (!(range.most > spread * range.least)) return false;
  double squares = 0, squares_of_terms = 0;
  std::vector<double> residuals, sizes;
  for_blocks(sigma, [&](std::size_t first, std::span<const double> values) {
    residuals.resize(values.size()), sizes.resize(values.size());
    rows.reference_residuals(x, first, values.size(), residuals.data(), sizes.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double known = unexplained.empty() ? residuals[i] : unexplained[first + i];
      const double r = known * values[i], terms = sizes[i] * values[i];
      squares += r * r, squares_of_terms += terms * terms;
    }
  });
  return std::sqrt(squares) > kRoundingErrors * std::sqrt(squares_of_terms);
}

namespace {

// Visits every tile at x: its number of rows, their columns [J | r], and their terms.
void for_tiles_with_terms(const RowModel& rows, std::span<const double> x, const auto& visit) {
  std::vector<double> terms;
  for_each_tile(rows, x, [&](const TileRange& tile, const double* const* columns) {
    terms_of_tile(rows, x, columns, tile.count, terms);
    visit(tile.count, columns, terms);
  });
}

// Returns true if the rows with terms of at least `least` determine all parameters, and are so many that
// their residuals show a scatter of their own. Columns are scaled by their norms over all rows.
bool determine_all(const RowModel& rows, std::span<const double> x, double least) {
  constexpr std::size_t kEnough = 2;     // rows a parameter
  constexpr double kDetermined = 1e-10;  // the least eigenvalue of the scaled JᵀJ
  const std::size_t n = x.size();
  std::size_t enough = kEnough * n;
  std::vector<double> gram(n * n, 0.0), squares(n, 0.0);
  for_tiles_with_terms(rows, x,
                       [&](std::size_t count, const double* const* columns, std::span<const double> terms) {
                         for (std::size_t i = 0; i < count; ++i) {
                           const bool heavy = terms[i] >= least;
                           if (heavy && enough > 0) --enough;
                           for (std::size_t j = 0; j < n; ++j) {
                             squares[j] += columns[j][i] * columns[j][i];
                             for (std::size_t k = 0; heavy && k <= j; ++k)
                               gram[j * n + k] += columns[j][i] * columns[k][i];
                           }
                         }
                       });
  if (enough > 0) return false;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      const double scale = std::sqrt(squares[j]) * std::sqrt(squares[k]);
      gram[k * n + j] = gram[j * n + k] =
          (scale > 0 ? gram[j * n + k] / scale : 0) - (j == k ? kDetermined : 0);
    }
  }
  return dense::cholesky(gram.data(), n);
}

}  // namespace

bool vanish_beside_start(const RowModel& rows, std::span<const double> x, std::span<const double> x0,
                         double share) {
  std::vector<double> residuals;
  for_tiles_with_terms(rows, x,
                       [&](std::size_t count, const double* const* columns, std::span<const double> terms) {
                         for (std::size_t i = 0; i < count; ++i) {
                           const double residual = std::fabs(columns[x.size()][i]);
                           residuals.push_back(residual <= share * terms[i] ? 0 : residual);
                         }
                       });
  std::size_t row = 0;
  bool vanish = true;
  for_tiles_with_terms(rows, x0, [&](std::size_t count, const double* const*, std::span<const double> terms) {
    for (std::size_t i = 0; i < count; ++i) vanish = vanish && residuals[row++] <= share * terms[i];
  });
  return vanish;
}

bool outweighed(const RowModel& rows, std::span<const double> x, std::span<const double> x0,
                const Certificate& certificate, bool limited_by_rounding) {
  constexpr double kFinest = 16 * std::numeric_limits<double>::denorm_min();
  const bool success = is_success(certificate.verdict);
  const bool rounding = limited_by_rounding || (success && certificate.gradient_bound >= 1);
  if (!rounding && certificate.verdict != Verdict::rank_deficient) return false;
  double heaviest = 0, lightest = kInfinity;  // of rows whose residuals are larger than rounding
  for_tiles_with_terms(
      rows, x, [&](std::size_t count, const double* const* columns, std::span<const double> terms) {
        for (std::size_t i = 0; i < count; ++i) {
          heaviest = std::max(heaviest, terms[i]);
          const bool rounds = std::fabs(columns[x.size()][i]) <= kRoundingErrors * terms[i] + kFinest;
          if (!rounds && terms[i] > 0) lightest = std::min(lightest, terms[i]);
        }
      });
  const double light = heaviest / (rounding ? kHeavyRows : kHidesRank);
  const bool square = rows.rows() <= static_cast<std::size_t>(std::max(0, certificate.rank));
  return lightest < light && !determine_all(rows, x, light) &&
         !vanish_beside_start(rows, x, x0, square ? kRoundingErrors : kVanished);
}

void withdraw_hidden(FitResult& fit, EndByTwofold judged, const std::function<bool()>& follows,
                     const std::function<bool(double)>& is_outweighed) {
  Summary& s = fit.summary;
  const bool hidden = hides_minimum(s.certificate, judged, follows);
  if (!hidden && !is_outweighed(doubtful_spread(s.certificate, judged, fit.parameters, fit.standard_errors)))
    return;
  withdraw(s, hidden ? kHiddenMinimum : kOutweighed);
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
