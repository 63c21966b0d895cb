// Implements is_hidden().
#include "batch/hidden_fits.hpp"

#include "certificate/certificate.hpp"
#include "dense/data_survey.hpp"

#include <vector>

namespace nlsq::inline v0 {

namespace {

std::vector<double> numbers(const Column& column) {
  std::vector<double> out(column.size());
  column.read(0, out.size(), out.data());
  return out;
}

}  // namespace

bool is_hidden(const Batch& batch, std::size_t fit, const Certificate& certificate, double cost) {
  if (!is_hidden_by_rounding(certificate, 0)) return false;  // nor with any other R²
  const std::vector<double> y = numbers(batch.y[fit]);
  std::vector<double> sigma;
  if (batch.weighted()) sigma = numbers(batch.sigma[fit]);
  const double total =
      y.empty() ? 0 : total_squares(y.data(), sigma.empty() ? nullptr : sigma.data(), y.size());
  return total > 0 && is_hidden_by_rounding(certificate, 1 - 2 * cost / total);
}

}  // namespace nlsq::inline v0
