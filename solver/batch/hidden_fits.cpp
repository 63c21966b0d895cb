// Implements is_hidden().
#include "batch/hidden_fits.hpp"

#include "certificate/certificate.hpp"
#include "dense/data_survey.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// Σw²(y - ȳ)² of one fit of a batch.
double total_squares(const Batch& batch, std::size_t fit) {
  const Column y = batch.y[fit];
  std::vector<double> values(ScatterSums::most), sigma(values.size());
  std::optional<ScatterSums> sums;
  for (std::size_t first = 0; first < y.size(); first += values.size()) {
    const std::size_t count = std::min(values.size(), y.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = y[first + i];
      if (batch.weighted()) sigma[i] = batch.sigma[fit][first + i];
    }
    if (!sums) sums.emplace(values[0]);
    sums->add(values.data(), batch.weighted() ? sigma.data() : nullptr, count);
  }
  return sums ? sums->total() : 0;
}

}  // namespace

bool is_hidden(const Batch& batch, std::size_t fit, const Certificate& certificate, double cost) {
  if (!is_hidden_by_rounding(certificate, 0)) return false;  // nor with any other R²
  const double total = total_squares(batch, fit);
  return total > 0 && is_hidden_by_rounding(certificate, 1 - 2 * cost / total);
}

}  // namespace nlsq::inline v0
