// Implements the delta method for functions of fitted parameters.
#include "prediction/delta_method.hpp"

#include "prediction/fitted_slopes.hpp"
#include "prediction/right_side.hpp"

#include <nlsq/error.hpp>
#include <nlsq/statistics.hpp>
#include "expression/ties.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// A variance counts as known if the rounding of the covariance changes it by at most this part. The third
// digit of a standard error changes then.
constexpr double kRounding = 1e-2;

}  // namespace

DeltaMethod::DeltaMethod(const FitResult& fit) : fit_(fit) {
  std::vector<std::string> ties;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    if (is_tied(fit, j)) ties.push_back(fit.parameter_names[j] + " = " + fit.ties[j]);
    else if (!fit.fixed[j]) free_.push_back(static_cast<int>(j));
  }
  if (!ties.empty()) slopes_ = Ties(fit.parameter_names, ties).slopes(fit.parameters, free_);
}

std::vector<double> DeltaMethod::by_fitted(std::span<const double> gradient) const {
  std::vector<double> out(free_.size());
  for (std::size_t k = 0; k < free_.size(); ++k) {
    if (slopes_.empty()) {
      out[k] = gradient[static_cast<std::size_t>(free_[k])];
      continue;
    }
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      const double slope = slopes_[j * free_.size() + k];
      if (slope != 0) out[k] += slope * gradient[j];
    }
  }
  return out;
}

std::vector<double> DeltaMethod::by_moved(std::span<const double> gradient) const {
  const std::vector<double> g = by_fitted(gradient);
  std::vector<double> out;
  for (std::size_t k = 0; k < g.size(); ++k) {
    if (!fit_.at_bound[static_cast<std::size_t>(free_[k])]) out.push_back(g[k]);
  }
  return out;
}

DeltaVariance DeltaMethod::variance(std::span<const double> gradient) const {
  const std::vector<double> g = by_fitted(gradient);
  DeltaVariance out{0};
  // Each term is a product of two derivatives in units of standard errors and a correlation, so that neither
  // overflows for parameters of very different sizes.
  std::vector<double> scaled;
  std::vector<std::size_t> parameter;
  for (std::size_t k = 0; k < g.size(); ++k) {
    const auto j = static_cast<std::size_t>(free_[k]);
    if (g[k] == 0) continue;
    if (!std::isfinite(g[k])) return {kNaN, DeltaState::not_finite};
    if (fit_.at_bound[j]) {
      out.held = true;
      continue;
    }
    scaled.push_back(g[k] * fit_.standard_errors[j]);
    parameter.push_back(j);
  }
  const bool scatter = std::ranges::any_of(
      free_, [&](int j) { return std::isfinite(fit_.standard_errors[static_cast<std::size_t>(j)]); });
  double size = 0;  // sum of the absolute values of the terms
  for (std::size_t a = 0; a < scaled.size(); ++a) {
    for (std::size_t b = 0; b < scaled.size(); ++b) {
      const double correlation = a == b ? 1 : fit_.correlation(parameter[a], parameter[b]);
      const double term = scaled[a] * scaled[b] * correlation;
      if (!std::isfinite(term))
        return {kNaN, scatter ? DeltaState::undetermined : DeltaState::no_scatter, out.held};
      out.value += term;
      size += std::fabs(term);
    }
  }
  const double rounding = static_cast<double>(scaled.size() + 2) * 0x1p-53 * size;
  if (size > 0 && !(rounding <= kRounding * out.value)) return {kNaN, DeltaState::lost_digits, out.held};
  return out;
}

double interval_quantile(const FitResult& fit, const FitOptions& options, double confidence) {
  if (options.absolute_sigma || fit.loss.is_counts()) return student_t_quantile(confidence, kInfinity);
  return student_t_quantile(confidence, static_cast<double>(fit.dof));
}

void check_confidence(double confidence) {
  if (confidence > 0 && confidence < 1) return;
  throw ValidationError(fmt::format("confidence = {}: use a number between 0 and 1", confidence));
}

namespace {

constexpr std::size_t kBlock = 65536;  // rows whose derivatives are held at once
constexpr double kMostError = 1e-2;    // relative error of a variance by rounding

}  // namespace

RowFactor::RowFactor(const PreparedModel& model, const Columns& x, const FitResult& fit,
                     const FitOptions& options, const DeltaMethod& delta)
    : delta_(delta), scatter_(options.absolute_sigma ? 1 : fit.chi2_reduced) {
  const std::size_t rows = x.list().front().size(), all = fit.parameters.size();
  for (std::size_t first = 0; first < rows; first += kBlock) {
    const std::size_t count = std::min(kBlock, rows - first);
    std::vector<std::vector<double>> block;
    for (const Column& column : x.list()) {
      block.emplace_back(count);
      column.read(first, count, block.back().data());
    }
    const Evaluation at =
        fitted_slopes(model, std::vector<Column>(block.begin(), block.end()), fit, options).at;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<double> row = delta.by_moved({at.jacobian.data() + i * all, all});
      if (!options.sigma.empty()) {
        for (double& v : row) v /= options.sigma[first + i];
      }
      if (R_.empty()) n_ = row.size(), R_.assign(n_ * n_, 0.0);
      add_row(row);
    }
  }
}

// Rotates the row into the triangle.
void RowFactor::add_row(std::vector<double>& row) {
  for (std::size_t k = 0; k < n_; ++k) {
    if (row[k] == 0) continue;
    double* const top = &R_[k * n_];
    const double length = std::hypot(top[k], row[k]), c = top[k] / length, s = row[k] / length;
    for (std::size_t j = k; j < n_; ++j) {
      const double above = top[j];
      top[j] = c * above + s * row[j];
      row[j] = c * row[j] - s * above;
    }
  }
}

double RowFactor::variance(std::span<const double> gradient) const {
  std::vector<double> z = delta_.by_moved(gradient), size(n_);
  double sum = 0, largest = 0;
  for (std::size_t k = 0; k < n_; ++k) {  // solves Rᵀ z = g, with the sizes of the terms of each sum
    size[k] = std::fabs(z[k]);
    for (std::size_t i = 0; i < k; ++i) {
      z[k] -= R_[i * n_ + k] * z[i];
      size[k] += std::fabs(R_[i * n_ + k] * z[i]);
    }
    z[k] /= R_[k * n_ + k];
    size[k] /= std::fabs(R_[k * n_ + k]);
    sum += z[k] * z[k];
    largest = std::max(largest, size[k]);
  }
  // The rounding errors of z are relative to its largest term, and enter the sum of squares twice.
  const double error = 2 * static_cast<double>(n_ + 2) * 0x1p-53 * largest / std::sqrt(sum);
  return error <= kMostError ? scatter_ * sum : kNaN;
}

}  // namespace nlsq::inline v0
