// The certificate does not trust the program it certifies: residuals by the user's own callable.
#include "dense_evaluator.hpp"
#include "row_groups.hpp"

#include <cmath>
#include <string_view>

namespace nlsq::inline v0 {

double DenseEvaluator::jacobian_error() const {
  return std::string_view(model_.kind()) == "finite differences" ? 1e-8 : 0.0;
}

Recheck DenseEvaluator::recheck(std::span<const double> x, std::size_t max_rows) {
  constexpr std::size_t kGroup = 64;
  const std::size_t m = model_.rows();
  const auto n = static_cast<std::size_t>(parameters());
  const auto pass = model_.begin(x, Fill::residual, false);
  Recheck out;
  double difference_squares = 0, magnitude_squares = 0;
  Vector residuals(kGroup), magnitudes(kGroup);
  const auto check = [&](std::size_t first, std::size_t count) {
    const double* r = pass->fill_f64(first, count, counters_)[n];
    const Vector program(r, r + count);
    model_.reference_residuals(x, first, count, residuals.data(), magnitudes.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double difference = std::fabs(program[i] - residuals[i]);
      const double size = std::max(magnitudes[i], std::fabs(residuals[i]));
      if (!(difference <= out.largest * size)) {
        out.largest = std::isfinite(difference) ? difference / size : std::numeric_limits<double>::infinity();
      }
      difference_squares += difference * difference;
      magnitude_squares += size * size;
    }
    out.rows += count;
  };
  for (const TileRange& group : row_groups(model_, max_rows, kGroup)) check(group.first, group.count);
  const double share = static_cast<double>(m) / static_cast<double>(std::max<std::size_t>(1, out.rows));
  out.discrepancy = std::sqrt(difference_squares * share);
  out.magnitude = std::sqrt(magnitude_squares * share);
  work_ += static_cast<double>(out.rows) * row_cost();
  return out;
}

}  // namespace nlsq::inline v0
