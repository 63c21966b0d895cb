#include "fit_statistics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void fill_covariance(FitResult& fit, const Certified& certified, const std::vector<int>& free, double sigma2) {
  const std::size_t n = fit.parameters.size();
  fit.covariance = Matrix(n, n);
  fit.standard_errors.assign(n, 0.0);
  const bool known = certified.covariance.rows() == free.size();
  for (std::size_t i = 0; i < free.size(); ++i) {
    const auto row = static_cast<std::size_t>(free[i]);
    for (std::size_t j = 0; j < free.size(); ++j) {
      fit.covariance(row, static_cast<std::size_t>(free[j])) = known ? certified.covariance(i, j) * sigma2 : kNaN;
    }
    fit.standard_errors[row] = std::sqrt(fit.covariance(row, row));
  }
}

void warn(FitResult& fit, const Certificate& c, const std::vector<int>& free) {
  std::string names;
  for (const int j : c.confounded) {
    if (!names.empty()) names += ", ";
    names += fit.parameter_names[static_cast<std::size_t>(free[static_cast<std::size_t>(j)])];
  }
  if (!names.empty()) {
    fit.warnings.push_back(fmt::format(
        "the data do not determine {}: only combinations of them; fix one, or simplify the model", names));
  }
  if (c.verdict == Verdict::noise_floor) fit.warnings.push_back("the fit ended at the noise floor of f64");
  if (fit.dof == 0) fit.warnings.push_back("as many parameters as rows: standard errors are undefined");
}

}  // namespace

double FitResult::correlation(std::size_t i, std::size_t j) const {
  return covariance(i, j) / (standard_errors[i] * standard_errors[j]);
}

double covariance_factor(double rss, std::size_t rows, std::size_t free, int rank, bool absolute_sigma) {
  if (absolute_sigma) return 1;
  const double scatter_dof = static_cast<double>(rows) - static_cast<double>(rank);
  return rows > free && scatter_dof > 0 ? rss / scatter_dof : kNaN;
}

void fill_statistics(FitResult& fit, const MinimizerResult& minimum, const std::vector<int>& free, bool absolute_sigma,
                     double total_squares) {
  const Certificate& c = minimum.certified.certificate;
  const auto m = static_cast<double>(fit.rows);
  fit.rss = 2 * minimum.summary.final_cost;
  fit.dof = static_cast<std::ptrdiff_t>(fit.rows) - static_cast<std::ptrdiff_t>(free.size());
  fit.chi2_reduced = fit.dof > 0 ? fit.rss / static_cast<double>(fit.dof) : kNaN;
  const double sigma2 = covariance_factor(fit.rss, fit.rows, free.size(), c.rank, absolute_sigma);
  fill_covariance(fit, minimum.certified, free, sigma2);
  fit.r_squared = total_squares > 0 ? 1 - fit.rss / total_squares : kNaN;
  const double k = static_cast<double>(free.size()) + 1;  // the variance is estimated too
  const double deviance = fit.rss > 0 ? m * std::log(fit.rss / m) : kNaN;
  fit.aic = deviance + 2 * k;
  fit.bic = deviance + k * std::log(m);
  warn(fit, c, free);
}

}  // namespace nlsq::inline v0
