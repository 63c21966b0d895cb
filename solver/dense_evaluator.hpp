// An Evaluator over rows of any kind: tiles go to Gram or QR kernels, sums go up a fixed tree.
#pragma once

#include "evaluator.hpp"

#include <nlsq/options.hpp>
#include <nlsq/row_model.hpp>

#include <functional>
#include <stdexcept>

namespace nlsq::inline v0 {

// A recorded callable met a branch that cannot be added: dual numbers must take over.
struct RecordingFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class DenseEvaluator final : public Evaluator {
 public:
  explicit DenseEvaluator(RowModel& model, const Parallelism& parallelism = {.threads = 1, .executor = {}})
      : model_(model), parallelism_(parallelism) {}

  int parameters() const override { return model_.parameters(); }
  std::size_t residuals() const override { return model_.rows(); }
  bool has_f32() const override { return model_.has_f32(); }
  double row_cost() const override { return model_.row_cost(Fill::jacobian_and_residual); }

  Linearization linearize(std::span<const double> x, const PrecisionPlan& plan) override;
  CostValue cost(std::span<const double> x, Format format) override;
  Probe probe(std::span<const double> x) override;
  Recheck recheck(std::span<const double> x, std::size_t max_rows) override;
  double jacobian_error() const override;
  Vector second_order(std::span<const double> x, std::span<const double> direction, double h) override;

  const KernelCounters& counters() const override { return counters_; }
  double counted_work() const override { return work_; }

  // Adds what another evaluator, over a part of the rows, has done.
  void add_work(const DenseEvaluator& part);

  std::size_t peak_bytes() const { return peak_bytes_; }  // most memory one pass held
  double seconds() const { return seconds_; }            // spent in passes; for reports only

  // First row whose residual is not finite at x, in f64.
  NonFiniteRow find_non_finite(std::span<const double> x);

 private:
  struct Sums;  // packed Gram sums of [J | r], or R, and what was flagged
  Sums accumulate(std::span<const double> x, Fill fill, const PrecisionPlan& plan);
  Sums accumulate_once(std::span<const double> x, Fill fill, const PrecisionPlan& plan, bool& retry);

  class Folders;
  Sums sum_chunk(std::size_t begin, std::size_t end, Fill fill, const PrecisionPlan& plan, Folders& folders);

  RowModel& model_;
  Parallelism parallelism_;
  KernelCounters counters_;
  double work_ = 0;
  std::size_t peak_bytes_ = 0;
  double seconds_ = 0;
};

}  // namespace nlsq::inline v0
