// Factors the rows of J by Givens rotations and solves with the factor.
#include "prediction/row_factor.hpp"
#include "support/constants.hpp"

#include <nlsq/evaluate.hpp>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kBlock = 65536;  // rows whose derivatives are held at once
constexpr double kMostError = 1e-2;    // relative error of a variance by rounding

}  // namespace

RowFactor::RowFactor(const PreparedModel& model, const Columns& x, const FitResult& fit,
                     const FitOptions& options, const DeltaMethod& delta)
    : delta_(delta), scatter_(options.absolute_sigma ? 1 : fit.chi2_reduced) {
  const std::size_t rows = x.list().front().size(), all = fit.parameters.size();
  EvaluateOptions evaluation;
  evaluation.jacobian = true;
  for (std::size_t first = 0; first < rows; first += kBlock) {
    const std::size_t count = std::min(kBlock, rows - first);
    std::vector<std::vector<double>> block;
    for (const Column& column : x.list()) {
      block.emplace_back(count);
      column.read(first, count, block.back().data());
    }
    const Evaluation at = evaluate(model, std::vector<Column>(block.begin(), block.end()), fit.parameters,
                                   PrecisionPolicy::all_f64(), evaluation);
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
  // An error of a term is one of z, relative to the largest term; it enters the sum twice.
  const double error = 2 * static_cast<double>(n_ + 2) * 0x1p-53 * largest / std::sqrt(sum);
  return error <= kMostError ? scatter_ * sum : kNaN;
}

}  // namespace nlsq::inline v0
