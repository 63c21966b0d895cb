// The certificate does not trust the program it certifies: residuals by the user's own callable.
#include "dense_evaluator.hpp"
#include "row_groups.hpp"

#include <cmath>
#include <string_view>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kGroup = 64;
constexpr double kSquareable = 0x1p-511;  // the square of a smaller number has lost digits, or all

// What a model is made of may be far larger than it is: the powers of a polynomial, exponentials that cancel.
// First-order terms tell, |J_ij| |x_j|; where a callable says nothing of y, a parameter is no smaller than its
// typical size.
void add_first_order_terms(const double* const* J, std::span<const double> x, std::span<const double> typical,
                           std::size_t count, Vector& magnitudes) {
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double size = std::max(std::fabs(x[j]), j < typical.size() ? typical[j] : 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isfinite(J[j][i])) magnitudes[i] += std::fabs(J[j][i]) * size;
    }
  }
}

// One column of J, or r, over the sampled rows.
struct ColumnSums {
  double squares = 0, terms = 0, largest = 0;

  void add(double value, double size) {
    squares += value * value;
    terms += std::fabs(value) * size;
    largest = std::max(largest, std::fabs(value));
  }
  bool underflows() const { return largest > 0 && largest < kSquareable; }
};

}  // namespace

double DenseEvaluator::jacobian_error() const {
  return std::string_view(model_.kind()) == "finite differences" ? 1e-8 : 0.0;
}

Recheck DenseEvaluator::recheck(std::span<const double> x, std::size_t max_rows) {
  const std::size_t m = model_.rows();
  const auto n = static_cast<std::size_t>(parameters());
  const auto pass = model_.begin(x, Fill::jacobian_and_residual, false);
  Recheck out;
  double difference_squares = 0, magnitude_squares = 0;
  Vector residuals(kGroup), magnitudes(kGroup);
  std::vector<ColumnSums> sums(n + 1);
  const auto compare = [&](double one, double other, double size) {
    const double difference = std::fabs(one - other);
    if (!(difference <= out.largest * size)) {
      out.largest = std::isfinite(difference) ? difference / size : std::numeric_limits<double>::infinity();
    }
    difference_squares += difference * difference;
  };
  const auto check = [&](std::size_t first, std::size_t count) {
    // The same call twice in a row: state that comes and goes with every call may agree with the program.
    double again[2], terms[2];
    for (int k = 0; k < 2; ++k) model_.reference_residuals(x, first + count / 2, 1, &again[k], &terms[k]);
    compare(again[0], again[1], std::max(terms[0], terms[1]));
    const double* const* columns = pass->fill_f64(first, count, counters_);
    model_.reference_residuals(x, first, count, residuals.data(), magnitudes.data());
    add_first_order_terms(columns, x, model_.typical_parameters(), count, magnitudes);
    for (std::size_t i = 0; i < count; ++i) {
      const double size = std::max(magnitudes[i], std::fabs(residuals[i]));
      compare(columns[n][i], residuals[i], size);
      magnitude_squares += size * size;
      for (std::size_t j = 0; j <= n; ++j) sums[j].add(columns[j][i], size);
    }
    out.rows += count;
  };
  for (const TileRange& group : row_groups(model_, max_rows, kGroup)) check(group.first, group.count);
  const double share = static_cast<double>(m) / static_cast<double>(std::max<std::size_t>(1, out.rows));
  out.discrepancy = std::sqrt(difference_squares * share);
  out.magnitude = std::sqrt(magnitude_squares * share);
  out.underflow = sums[n].underflows();
  for (std::size_t j = 0; j < n; ++j) {
    out.underflow = out.underflow || (sums[j].underflows() && sums[n].largest > 0);
    out.column_magnitude.push_back(sums[j].squares > 0 ? sums[j].terms / std::sqrt(sums[j].squares) * std::sqrt(share) : 0.0);
  }
  work_ += static_cast<double>(out.rows) * row_cost();
  return out;
}

}  // namespace nlsq::inline v0
