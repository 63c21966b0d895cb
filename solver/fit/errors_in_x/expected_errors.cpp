// Averages over the errors of each row how far it moves the estimate.
#include "fit/errors_in_x/expected_errors.hpp"

#include "fit/errors_in_x/effective_errors.hpp"
#include "rows/graph_rows.hpp"
#include "support/all_finite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// Returns how many rows are examined: at most 2,048, and fewer if there are many parameters.
std::size_t spread_count(std::size_t rows, std::size_t parameters) {
  constexpr std::size_t kMostRows = 2048, kLeastRows = 256, kMostWork = 1 << 22;
  return std::min(rows, std::clamp(kMostWork / (parameters * parameters + 1), kLeastRows, kMostRows));
}

// This is the limit on predictors with errors. Their points are combined, so four need 81 passes.
constexpr std::size_t kMostErrors = 4;

// The Gauss-Hermite rule of three points is exact for polynomials up to degree 5.
struct Point {
  double at, weight;  // in standard deviations
};
constexpr std::array<Point, 3> kPoints = {
    {{0, 2.0 / 3}, {-1.7320508075688772, 1.0 / 6}, {1.7320508075688772, 1.0 / 6}}};

// Holds rows of the data spread over all of them. The predictors can be moved away from their values.
class SpreadRows {
 public:
  SpreadRows(const Curve& curve, double scale)
      : errors_(curve.form.x_errors), first_error_(static_cast<std::size_t>(curve.predictors) + 2),
        scale_(scale) {
    const RowSource& data = *curve.data;
    const std::size_t m = data.rows(), count = spread_count(m, curve.free.size());
    // Each of `count` equal parts of the data gives one row, from another place within the part each time. If
    // all came from the same place, data with a period could be seen at one phase only.
    const auto place = [&](std::size_t i) {
      constexpr double kGolden = 0.6180339887498949;
      const double jump = static_cast<double>(i) * kGolden;
      const double at = static_cast<double>(i) + jump - std::floor(jump);
      return m == count ? i
                        : std::min(m - 1, static_cast<std::size_t>(at * static_cast<double>(m) /
                                                                   static_cast<double>(count)));
    };
    for (int c = 0; c < data.columns(); ++c) {
      std::vector<double>& column = columns_.emplace_back(count);
      for (std::size_t i = 0; i < count; ++i) data.read(place(i), 1, c, &column[i]);
    }
    given_ = columns_;
    std::vector<Column> views(columns_.begin(), columns_.end());
    source_ = std::make_shared<MemoryRows>(std::move(views));
  }

  SpreadRows(const SpreadRows&) = delete;  // the source refers to the columns
  SpreadRows& operator=(const SpreadRows&) = delete;

  std::size_t rows() const { return columns_[0].size(); }
  const std::shared_ptr<const RowSource>& source() const { return source_; }
  const std::vector<double>& sigma() const { return given_[first_error_ - 1]; }

  // Moves predictor number k among those with errors by `steps` standard deviations from its given values.
  void move(std::size_t k, double steps) {
    const auto c = static_cast<std::size_t>(errors_[k]);
    for (std::size_t i = 0; i < rows(); ++i)
      columns_[c][i] = given_[c][i] + steps * scale_ * given_[first_error_ + k][i];
  }

 private:
  std::vector<int> errors_;
  std::size_t first_error_;  // column of the first standard deviation of a predictor
  double scale_;
  std::vector<std::vector<double>> columns_, given_;
  std::shared_ptr<const RowSource> source_;
};

// Evaluates a quantity of each row, and its derivatives by the free parameters, at the rows' current x.
class Quantity {
 public:
  Quantity(std::shared_ptr<ResidualSource> source, const SpreadRows& spread, const std::vector<double>& p,
           const std::vector<int>& free, std::span<const double> x)
      : rows_(std::move(source), spread.source(), p, free), n_(free.size()), x_(x.begin(), x.end()) {}

  // Fills n + 1 columns: the derivatives, then the quantity.
  const std::vector<Vector>& evaluate() {
    rows_.data_changed();
    const std::unique_ptr<TilePass> pass = rows_.begin(x_, Fill::jacobian_and_residual, false);
    out_.assign(n_ + 1, Vector(rows_.rows()));
    KernelCounters not_of_the_fit;
    for (std::size_t first = 0; first < rows_.rows(); first += rows_.tile_rows()) {
      const std::size_t count = std::min(rows_.tile_rows(), rows_.rows() - first);
      double* const* const filled = pass->fill_f64(first, count, not_of_the_fit);
      for (std::size_t j = 0; j <= n_; ++j) std::copy_n(filled[j], count, out_[j].data() + first);
    }
    return out_;
  }

 private:
  GraphRows rows_;
  std::size_t n_;
  Vector x_;
  std::vector<Vector> out_;
};

struct ExpectedErrors {
  Vector shift;     // mean of estimate minus truth, for each free parameter
  Vector variance;  // of the estimate about its mean
  // How far the two may be wrong because the measured x stand for the true ones: the root of the sum of
  // squares over the rows.
  Vector shift_error, variance_error;
};

// A row with gradient g moves the estimate by h = -C g. This class averages h and its squares over the points
// of the rule, for each row.
class RowMoves {
 public:
  RowMoves(std::size_t rows, const Matrix& inverse)
      : inverse_(inverse), n_(inverse.rows()), g_(n_), mean_(rows * n_), squares_(rows * n_) {}

  // Adds row i. g is the gradient of (d/s)²/2. The columns of `d` and `s` are derivatives, then values;
  // `shift` is subtracted from d.
  void add(std::size_t i, double weight, const std::vector<Vector>& d, const std::vector<Vector>& s,
           double shift) {
    const double deviation = s[n_][i], z = (d[n_][i] - shift) / deviation;
    for (std::size_t j = 0; j < n_; ++j) g_[j] = z * (d[j][i] - z * s[j][i]) / deviation;
    for (std::size_t j = 0; j < n_; ++j) {
      double h = 0;
      for (std::size_t k = 0; k < n_; ++k) h -= inverse_(j, k) * g_[k];
      mean_[i * n_ + j] += weight * h;
      squares_[i * n_ + j] += weight * h * h;
    }
  }

  // Adds up all rows; each stands for `share` rows. Leaves out rows that are not finite.
  ExpectedErrors sum(double share) const {
    ExpectedErrors out{Vector(n_), Vector(n_), Vector(n_), Vector(n_)};
    for (std::size_t first = 0; first < mean_.size(); first += n_) {
      if (!all_finite(std::span(mean_.data() + first, n_))) continue;
      for (std::size_t j = 0; j < n_; ++j) {
        const double mean = mean_[first + j], variance = squares_[first + j] - mean * mean;
        out.shift[j] += share * mean;
        out.variance[j] += share * variance;
        out.shift_error[j] += share * mean * mean;
        out.variance_error[j] += share * variance * variance;
      }
    }
    for (std::size_t j = 0; j < n_; ++j) {
      out.shift_error[j] = std::sqrt(out.shift_error[j]);
      out.variance_error[j] = std::sqrt(out.variance_error[j]);
    }
    return out;
  }

 private:
  const Matrix& inverse_;
  std::size_t n_;
  Vector g_, mean_, squares_;
};

// Returns true if the curve is straight along every predictor with errors.
bool is_straight(const Curve& curve) {
  Graph graph;
  const NodeId difference = curve.source_of(ResidualForm(false))->build(graph);
  return std::ranges::all_of(curve.form.x_errors, [&](int x) {
    return differentiate_column(graph, differentiate_column(graph, difference, x), x) == graph.constant(0);
  });
}

// Computes the errors of the estimator that minimizes Σ (d/s)², d = f - y, s² = sigma² + Σ (∂f/∂x_k)²
// sigma_x[k]². The parameters at x and the predictors in the data are taken for the true ones. All errors are
// normal, with `scale` times their standard deviations. The gradient g of a row is averaged over all
// combinations of the points for its errors. The shift is -C Σ E[g], and the covariance is C Σ Cov[g] C.
// `inverse` is the matrix C = (JᵀJ)⁻¹ of a Gauss-Newton step. It has zeros for parameters that do not move.
ExpectedErrors expected_errors(const Curve& curve, std::span<const double> x, const Matrix& inverse,
                               double scale) {
  const std::size_t errors = curve.form.x_errors.size();
  std::vector<double> p = curve.start;
  curve.put(x, p);
  SpreadRows spread(curve, scale);
  Quantity difference(curve.source_of(ResidualForm(false)), spread, p, curve.free, x);
  Quantity deviation(effective_deviation(curve), spread, p, curve.free, x);
  const Vector at_truth = difference.evaluate().back();
  RowMoves moves(spread.rows(), inverse);
  std::size_t combinations = 1;
  for (std::size_t k = 0; k < errors; ++k) combinations *= kPoints.size();
  for (std::size_t combination = 0; combination < combinations; ++combination) {
    double weight = 1;
    for (std::size_t k = 0, rest = combination; k < errors; ++k, rest /= kPoints.size()) {
      const Point& point = kPoints[rest % kPoints.size()];
      spread.move(k, point.at);
      weight *= point.weight;
    }
    const std::vector<Vector>&d = difference.evaluate(), &s = deviation.evaluate();
    for (std::size_t i = 0; i < spread.rows(); ++i) {
      for (const Point& of_y : kPoints)
        moves.add(i, weight * of_y.weight, d, s, at_truth[i] + of_y.at * scale * spread.sigma()[i]);
    }
  }
  return moves.sum(static_cast<double>(curve.data->rows()) / static_cast<double>(spread.rows()));
}

}  // namespace

std::string warning_of_expected_errors(const Curve& curve, std::span<const double> x, const FitResult& fit) {
  constexpr double kShift = 0.5;    // in standard errors: intervals of 95 % then hold the truth in 92 %
  constexpr double kScatter = 1.2;  // in standard errors: 90 %
  // A sum that few rows make up depends on their measured x more than on the curve. So it must be this
  // multiple of its own error.
  constexpr double kClear = 2;
  const bool scaled = !curve.unit_sigma() && fit.chi2_reduced > 0;
  const double variance = scaled ? fit.chi2_reduced : 1;
  const std::size_t n = curve.free.size();
  if (n == 0 || !fit.loss.is_linear() || curve.form.x_errors.size() > kMostErrors || is_straight(curve))
    return {};
  const auto all = [&](std::size_t k) { return static_cast<std::size_t>(curve.free[k]); };
  Matrix inverse(n, n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n; ++k) {
      const double c = fit.covariance(all(j), all(k));
      inverse(j, k) = std::isfinite(c) ? c / variance : 0;
    }
  }
  const ExpectedErrors expected = expected_errors(curve, x, inverse, std::sqrt(variance));
  std::vector<std::string> found;
  for (std::size_t j = 0; j < expected.shift.size(); ++j) {
    const double error = fit.standard_errors[all(j)], shift = std::abs(expected.shift[j]) / error,
                 scatter = std::sqrt(expected.variance[j]) / error;
    const std::string& name = curve.names[all(j)];
    if (shift > kShift && std::abs(expected.shift[j]) > kClear * expected.shift_error[j]) {
      found.push_back(
          fmt::format("{} is off by about {:+.2g}, {:.1f} standard errors", name, expected.shift[j], shift));
    }
    if (scatter > kScatter && expected.variance[j] - error * error > kClear * expected.variance_error[j])
      found.push_back(fmt::format("{} scatters by {:.1f} standard errors", name, scatter));
  }
  if (found.empty()) return {};
  return fmt::format(
      "the curve bends within the errors in x, and the fit takes it as straight there: {}. "
      "Only a more exact x helps",
      fmt::join(found, "; "));
}

}  // namespace nlsq::inline v0
