// Implements the normal quantiles of residuals.
#include "plot/normal_quantiles.hpp"

#include <nlsq/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::cli {

namespace {

// Returns the z for which P(Z <= z) = p, from the two-sided quantile of the library.
double normal_quantile(double p) {
  if (p == 0.5) return 0;
  const double z = student_t_quantile(std::fabs(2 * p - 1), std::numeric_limits<double>::infinity());
  return p < 0.5 ? -z : z;
}

// Returns which of n sorted residuals are kept. If they are few, all are. If they are many, these are the ten
// at each end, and others at even distances along the normal axis.
std::vector<std::size_t> kept_ranks(std::size_t n) {
  constexpr std::size_t kMost = 500, kEnds = 10;
  std::vector<std::size_t> ranks;
  if (n <= kMost) {
    for (std::size_t i = 0; i < n; ++i) ranks.push_back(i);
    return ranks;
  }
  for (std::size_t i = 0; i < kEnds; ++i) {
    ranks.push_back(i);
    ranks.push_back(n - 1 - i);
  }
  const double end = -normal_quantile(0.5 / static_cast<double>(n));
  for (std::size_t k = 0; k < kMost; ++k) {
    const double z = end * (2.0 * static_cast<double>(k) / (kMost - 1) - 1);
    const double below = 0.5 * std::erfc(-z / std::sqrt(2.0)) * static_cast<double>(n);
    ranks.push_back(std::min(n - 1, static_cast<std::size_t>(below)));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

NormalQuantiles normal_quantiles(std::vector<double> residuals, double scatter) {
  NormalQuantiles quantiles;
  std::erase_if(residuals, [](double r) { return !std::isfinite(r); });
  if (!(scatter > 0) || !std::isfinite(scatter)) return quantiles;
  std::sort(residuals.begin(), residuals.end());
  const std::size_t n = residuals.size();
  for (const std::size_t i : kept_ranks(n)) {
    quantiles.normal.push_back(normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n)));
    quantiles.residual.push_back(residuals[i] / scatter);
  }
  return quantiles;
}

}  // namespace nlsq::cli
