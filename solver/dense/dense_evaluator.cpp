// Implements DenseEvaluator's public functions: linearizations, costs, gradients, second-order differences
// and sizes of rows.
#include "dense/dense_evaluator.hpp"

#include "dense/dense_pass.hpp"
#include "dense/loss_curvature.hpp"
#include "dense/tile_issues.hpp"
#include "linear/dot.hpp"
#include "support/constants.hpp"

#include "rows/sample_rows.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

double error_of_columns(const std::vector<double>& errors) {
  return norm_of(errors.size(), [&](std::size_t j) { return errors[j]; });
}

}  // namespace

DenseEvaluator::DenseEvaluator(RowModel& model, const Parallelism& parallelism)
    : model_(model), parallelism_(parallelism), scratch_(std::make_unique<Scratch>()),
      workers_(std::make_unique<Workers>()) {}
DenseEvaluator::~DenseEvaluator() = default;

double DenseEvaluator::pass_work(const PrecisionPlan& plan) const {
  return work_of({{}, Fill::jacobian_and_residual, plan}, row_cost());
}

void DenseEvaluator::linearize_into(std::span<const double> x, const PrecisionPlan& plan,
                                    Linearization& out) {
  linearization_of(accumulate({x, Fill::jacobian_and_residual, plan}), plan, out);
  out.derivative_error = error_of_columns(model_.derivative_errors(x));
  correct_curvature(model_, x, out);
}

double DenseEvaluator::gradient_work() const {
  if (model_.robust_loss() != nullptr) return Evaluator::gradient_work();
  return work_of({.x = {}, .fill = Fill::jacobian_and_residual, .plan = kF64Plan, .gradient = true},
                 row_cost());
}

// Gradients alone are not available with a robust loss: its curvature correction needs more than the
// gradient.
double DenseEvaluator::row_work(const Pass& pass) const {
  const bool two_points = !pass.beside.empty() || pass.second_order();
  return model_.row_cost(pass.fill) + (two_points ? model_.row_cost(Fill::residual) : 0.0);
}

bool DenseEvaluator::gradient_into(std::span<const double> x, Linearization& out) {
  if (model_.robust_loss() != nullptr) return false;
  const Sums& sums =
      accumulate({.x = x, .fill = Fill::jacobian_and_residual, .plan = kF64Plan, .gradient = true});
  out.finite = sums.finite;
  out.cost = sums.finite ? 0.5 * sums.packed.back() : kNaN;
  out.gradient.assign(sums.packed.begin(), sums.packed.end() - 1);
  return true;
}

bool DenseEvaluator::linearize_part(std::span<const double> x, std::size_t rows, Linearization& out) {
  if (model_.one_point() || rows >= model_.rows()) return false;
  SampleRows sample(model_, rows);
  DenseEvaluator part(sample, parallelism_);
  part.linearize_into(x, kF64Plan, out);
  add_work(part);
  if (!out.finite) return true;
  const double share = static_cast<double>(model_.rows()) / static_cast<double>(sample.rows());
  out.cost *= share;
  for (double& g : out.gradient) g *= share;
  for (std::size_t i = 0; i < out.gradient.size(); ++i) {
    for (std::size_t j = 0; j < out.gradient.size(); ++j) out.normal(i, j) *= share;
  }
  return true;
}

// A formula with a matrix of errors is evaluated whole, too, but not by the user's code.
bool DenseEvaluator::by_calls() const {
  return model_.one_point() && std::string_view(model_.kind()) != "graph";
}

double DenseEvaluator::linearize_beside(std::span<const double> x, const PrecisionPlan& plan,
                                        std::span<const double> beside, Format format, Linearization& out) {
  if (model_.one_point()) {
    linearize_into(x, plan, out);
    return cost(beside, format);
  }
  const Sums& sums = accumulate({x, Fill::jacobian_and_residual, plan, beside, format});
  const double there = 0.5 * sums.squares_beside;
  linearization_of(sums, plan, out);
  out.derivative_error = error_of_columns(model_.derivative_errors(x));
  correct_curvature(model_, x, out);
  // The cost at `beside` needs a pass of its own in two cases: a tile was not finite below f64, where it may
  // be finite in f64; or a row was not finite at x, and the pass ended before it had summed all rows.
  return out.finite && std::isfinite(there) ? there : cost(beside, format);
}

void DenseEvaluator::forget_work() {
  counters_ = {};
  component_counters_.clear();
  issues_.clear();
  work_ = seconds_ = 0;
  peak_bytes_ = 0;
}

void DenseEvaluator::add_work(const DenseEvaluator& part) {
  counters_.add(part.counters_);
  component_counters_.resize(part.component_counters_.size());
  for (std::size_t c = 0; c < component_counters_.size(); ++c)
    component_counters_[c].add(part.component_counters_[c]);
  work_ += part.work_;
  seconds_ += part.seconds_;
  peak_bytes_ = std::max(peak_bytes_, part.peak_bytes_);
  threads_ = std::max(threads_, part.threads_);
  for (const PrecisionIssue& issue : part.issues_) add_issue(issues_, issue);
}

double DenseEvaluator::cost(std::span<const double> x, Format format) {
  const Sums& sums = accumulate({x, Fill::residual, cost_plan(format)});
  return sums.finite ? 0.5 * sums.packed[0] : kNaN;
}

RowSizes DenseEvaluator::sizes(std::span<const double> x) {
  const auto pass = model_.begin(x, Fill::jacobian_and_residual, false);
  const auto n = static_cast<std::size_t>(parameters());
  RowSizes out;
  Vector largest(n + 1, 0.0);
  for (std::size_t t = 0; t < model_.tile_count(); ++t) {
    const TileRange range = model_.tile(t);
    const double* const* columns = pass->fill_f64(range.first, range.count, counters_);
    for (std::size_t i = 0; i < range.count; ++i) {
      for (std::size_t j = 0; j <= n; ++j) {
        const double size = std::fabs(columns[j][i]);
        if (!std::isfinite(size)) {
          return {.finite = false,
                  .row = range.first + i,
                  .largest = size,
                  .largest_column = std::isfinite(columns[n][i]) ? j : n};
        }
        largest[j] = std::max(largest[j], size);
        if (size <= out.largest) continue;
        out.largest = size;
        out.row = range.first + i;
        out.largest_column = j;
      }
    }
  }
  out.least = out.largest;
  out.least_column = out.largest_column;
  for (std::size_t j = 0; j <= n; ++j) {
    if (!(largest[j] > 0 && largest[j] < out.least)) continue;
    out.least = largest[j];
    out.least_column = j;
  }
  return out;
}

}  // namespace nlsq::inline v0
