// Implements the residuals in units of their standard deviation.
#include "plot/row_errors.hpp"

#include "table/block_evaluator.hpp"

#include <cmath>

namespace nlsq::cli {

namespace {

std::vector<double> read(const Column& column) {
  std::vector<double> values(column.size());
  column.read(0, values.size(), values.data());
  return values;
}

// Adds to `variance` what errors of predictor k contribute: (df/dx sigma_x)². The derivative is a central
// difference over a thousandth of sigma_x, which is accurate enough for a picture.
void add_variance(const FitReport& report, std::size_t k, std::vector<double>& variance) {
  const std::vector<double> sigma_x = read(report.data.sigma_x[k]);
  const std::vector<double> x = read(report.data.predictors[k]);
  const auto shifted = [&](double by) {
    std::vector<double> moved = x, values(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) moved[i] += by * sigma_x[i];
    std::vector<Column> columns = report.data.predictors;
    columns[k] = Column(moved);
    evaluate_rows(report.model.formula, columns, report.fit.parameters, values);
    return values;
  };
  constexpr double kPart = 1e-3;
  const std::vector<double> above = shifted(kPart), below = shifted(-kPart);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double contribution = (above[i] - below[i]) / (2 * kPart);
    variance[i] += contribution * contribution;
  }
}

// Returns one value per row. The result is empty if all are 1.
std::vector<double> standard_deviations(const FitReport& report, const std::vector<double>& fit) {
  const FitData& data = report.data;
  std::vector<double> sigma;
  if (report.fit.loss.is_counts()) {
    for (const double value : fit) sigma.push_back(std::sqrt(value));
    return sigma;
  }
  if (data.sigma.empty()) return sigma;
  sigma = read(data.sigma);
  if (data.sigma_x.empty()) return sigma;
  for (double& s : sigma) s *= s;
  for (std::size_t k = 0; k < data.sigma_x.size(); ++k) {
    if (!data.sigma_x[k].empty()) add_variance(report, k, sigma);
  }
  for (double& s : sigma) s = std::sqrt(s);
  return sigma;
}

}  // namespace

RowErrors row_errors(const FitReport& report, const std::vector<double>& y, const std::vector<double>& fit) {
  const FitData& data = report.data;
  RowErrors errors;
  errors.residual.resize(y.size());
  const std::vector<double> sigma = standard_deviations(report, fit);
  for (std::size_t i = 0; i < y.size(); ++i)
    errors.residual[i] = (y[i] - fit[i]) / (sigma.empty() ? 1 : sigma[i]);
  if (!data.sigma.empty()) errors.y_error = read(data.sigma);
  const bool one_with_error = data.predictors.size() == 1 && data.sigma_x.size() == 1;
  if (one_with_error && !data.sigma_x[0].empty()) errors.x_error = read(data.sigma_x[0]);
  return errors;
}

double standard_scatter(const FitReport& report) {
  const bool known = report.fit.loss.is_counts() || report.arguments.absolute_sigma;
  return known ? 1 : std::sqrt(report.fit.chi2_reduced);
}

}  // namespace nlsq::cli
