// Implements StartSample.
#include "start/start_sample.hpp"

#include "dense/dense_algebra.hpp"
#include "support/constants.hpp"

#include "formula/formula_steps.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostRows = 128;

// Returns the steps of the operand that ends before step `end`.
std::vector<FormulaStep> operand_before(const std::vector<FormulaStep>& steps, std::size_t end) {
  std::size_t begin = end;
  for (int missing = 1; missing > 0 && begin > 0;) missing += operands_of(steps[--begin]) - 1;
  return {steps.begin() + static_cast<std::ptrdiff_t>(begin),
          steps.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::vector<Formula> phases_of(const Formula& formula) {
  std::vector<Formula> out;
  for (std::size_t k = 0; k < formula.steps.size(); ++k) {
    const FormulaStep& step = formula.steps[k];
    const bool wave = step.op == Op::sin || step.op == Op::cos || step.op == Op::tan;
    if (step.compound != CompoundFunction::none || !wave) continue;
    out.push_back(formula);
    out.back().steps = operand_before(formula.steps, k);
  }
  return out;
}

// Returns the numbers of the rows, in the order of the first predictor.
std::vector<std::size_t> rows_of_sample(const RowSource& data) {
  const std::size_t all = data.rows(), count = std::min(all, kMostRows);
  std::vector<std::size_t> rows(count);
  std::vector<double> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = i * all / count;
    data.read(rows[i], 1, 0, &x[i]);
  }
  std::vector<std::size_t> order(count), out;
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  for (const std::size_t i : order) out.push_back(rows[i]);
  return out;
}

// Returns by how much linear parameters can lower the sum of squares of r. `columns` holds what each of them
// adds to the residuals if it is 1. The result is infinite if the columns depend on each other.
double explained(const std::vector<std::vector<double>>& columns, const std::vector<double>& r) {
  constexpr double kDependent = 1e-12;
  const std::size_t n = columns.size(), rows = r.size();
  std::vector<double> gram(n * n), right(n), scale(n);
  for (std::size_t a = 0; a < n; ++a) {
    scale[a] = dense::norm(columns[a].data(), rows);
    right[a] = dense::dot(columns[a].data(), r.data(), rows) / scale[a];
    for (std::size_t b = 0; b <= a; ++b)
      gram[b * n + a] = gram[a * n + b] =
          dense::dot(columns[a].data(), columns[b].data(), rows) / (scale[a] * scale[b]);
  }
  if (!dense::cholesky(gram.data(), n)) return kInfinity;
  for (std::size_t a = 0; a < n; ++a)
    if (!(gram[a * n + a] * gram[a * n + a] > kDependent)) return kInfinity;
  dense::solve_lower(gram.data(), n, right.data());
  return dense::dot(right.data(), right.data(), n);
}

}  // namespace

StartSample::StartSample(const Formula& formula, const RowSource& data, bool weighted,
                         std::vector<int> linear)
    : formula_(formula), linear_(std::move(linear)) {
  const std::vector<std::size_t> rows = rows_of_sample(data);
  const auto read = [&](std::size_t column) {
    std::vector<double> out(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) data.read(rows[i], 1, static_cast<int>(column), &out[i]);
    return out;
  };
  const std::size_t predictors = formula.predictors.size();
  for (std::size_t k = 0; k < predictors; ++k) x_.push_back(read(k));
  y_ = read(predictors);
  weights_.assign(rows.size(), 1.0);
  if (weighted) {
    const std::vector<double> sigma = read(predictors + 1);
    for (std::size_t i = 0; i < rows.size(); ++i) weights_[i] = 1 / sigma[i];
  }
  if (predictors == 1) phases_ = phases_of(formula);
}

std::vector<double> StartSample::values_of(const Formula& formula, std::span<const double> parameters) const {
  std::vector<const double*> x;
  for (const std::vector<double>& column : x_) x.push_back(column.data());
  std::vector<double> out(rows());
  formula.evaluate_rows(x, parameters, rows(), out.data());
  return out;
}

// Between most neighbouring rows a wave must go on by at most half of its period. A faster one passes through
// the same points as a slow one.
bool StartSample::waves_are_slow(std::span<const double> parameters) const {
  std::vector<double> steps(rows() - 1);
  for (const Formula& one : phases_) {
    const std::vector<double> phase = values_of(one, parameters);
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = std::fabs(phase[i + 1] - phase[i]);
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end());
    if (!(*middle <= std::numbers::pi)) return false;
  }
  return true;
}

double StartSample::squares(std::vector<double> parameters) const {
  // Linear parameters are 0 first. Residuals are then as large as y, so that little is lost when what these
  // parameters explain is subtracted.
  for (const int j : linear_) parameters[static_cast<std::size_t>(j)] = 0;
  if (rows() > 1 && !phases_.empty() && !waves_are_slow(parameters)) return kInfinity;
  const std::vector<double> base = values_of(formula_, parameters);
  std::vector<double> r(rows());
  for (std::size_t i = 0; i < rows(); ++i) r[i] = (base[i] - y_[i]) * weights_[i];
  std::vector<std::vector<double>> columns;
  for (const int j : linear_) {
    double& parameter = parameters[static_cast<std::size_t>(j)];
    parameter = 1;
    columns.push_back(values_of(formula_, parameters));
    parameter = 0;
    for (std::size_t i = 0; i < rows(); ++i) columns.back()[i] = (columns.back()[i] - base[i]) * weights_[i];
  }
  const double left = dense::dot(r.data(), r.data(), rows()) - explained(columns, r);
  return left >= 0 && std::isfinite(left) ? left : kInfinity;
}

}  // namespace nlsq::inline v0
