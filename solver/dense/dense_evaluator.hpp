// An Evaluator over rows of any kind: tiles go to Gram or QR kernels, sums go up a fixed tree.
#pragma once

#include "dense/data_survey.hpp"
#include "dense/evaluator.hpp"
#include "minimizer/box.hpp"

#include <nlsq/options.hpp>
#include "rows/row_model.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// A recorded callable met a branch that cannot be added: dual numbers must take over.
struct RecordingFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class DenseEvaluator final : public Evaluator {
 public:
  explicit DenseEvaluator(RowModel& model, const Parallelism& parallelism = {.threads = 1, .executor = {}});
  ~DenseEvaluator() override;

  int parameters() const override { return model_.parameters(); }
  std::size_t residuals() const override { return model_.rows(); }
  bool has_f32() const override { return model_.has_f32(); }
  double row_cost() const override { return model_.row_cost(Fill::jacobian_and_residual); }
  bool linear() const override { return linear_; }

  std::span<const RowComponent> components() const override { return model_.components(); }
  std::span<const PrecisionPlan> raised() const override { return raised_; }
  void raise(std::vector<PrecisionPlan> plans) override { raised_ = std::move(plans); }

  void linearize_into(std::span<const double> x, const PrecisionPlan& plan, Linearization& out) override;
  bool gradient_into(std::span<const double> x, Linearization& out) override;
  double gradient_work() const override;
  bool linearize_part(std::span<const double> x, std::size_t rows, Linearization& out) override;
  bool second_order_part(std::span<const double> x, std::span<const double> direction, std::size_t rows,
                         Vector& out) override;
  CostValue cost(std::span<const double> x, Format format) override;
  // Both in one pass over the data: what linearize_into gives at x, and the cost at `beside` in the plan's
  // format.
  CostValue linearize_beside(std::span<const double> x, const PrecisionPlan& plan,
                             std::span<const double> beside, Linearization& out);
  Probe probe(std::span<const double> x, const PrecisionPlan& plan, std::optional<Format> below) override;
  // ‖r32 - r64‖ / ‖r64‖ on about a thousand rows, r32 by f32 rows, the `linear` parameters at their
  // least-squares values for the others on those rows. The share of the residuals that f32 gets wrong where a
  // fit begins, once what the linear parameters explain is taken away. 0 where either is not finite: rows
  // beyond the range of a format are the pass's own affair.
  double low_row_error(std::span<const double> x, std::span<const int> linear);
  void recheck_into(std::span<const double> x, std::size_t max_rows, Recheck& out) override;
  double jacobian_error() const override;
  void second_order_into(std::span<const double> x, std::span<const double> direction, double h,
                         Vector& out) override;

  const KernelCounters& counters() const override { return counters_; }
  // Of the passes over each component's rows, in their order.
  std::span<const KernelCounters> component_counters() const { return component_counters_; }
  double counted_work() const override { return work_; }
  double pass_work(const PrecisionPlan& plan) const override;
  std::size_t bytes() const override { return peak_bytes_; }
  std::vector<PrecisionIssue> take_issues() override { return std::exchange(issues_, {}); }

  // Without it seconds() stays 0: the clock costs small fits a few percent.
  void keep_time(bool on) { timed_ = on; }
  void set_linear(bool on) { linear_ = on; }
  // Bounds that points evaluated beside x keep, too. They must outlive their use.
  void keep_within(const Box& box) { box_ = box; }
  void set_parallelism(const Parallelism& parallelism) { parallelism_ = parallelism; }
  // Counters, work and time from zero; what has been allocated is kept.
  void forget_work();
  // Made in the next pass over the rows; null: none.
  void survey_next(std::shared_ptr<DataSurvey> survey) {
    survey_ = survey && !survey->complete() ? std::move(survey) : nullptr;
  }
  // Adds what another evaluator, over a part of the rows, has done.
  void add_work(const DenseEvaluator& part);

  std::size_t peak_bytes() const { return peak_bytes_; }  // most memory one pass held
  int threads() const { return threads_; }                // most threads one pass ran on
  double seconds() const { return seconds_; }             // spent in passes; for reports only

  // How large residuals and derivatives are at x, in f64.
  RowSizes sizes(std::span<const double> x);

 private:
  struct Sums;     // packed Gram sums of [J | r], or R, and what was flagged
  struct Scratch;  // passes and buffers that one worker fills again and again
  class TileFolder;
  // The result stays valid until the next pass.
  struct Pass;  // what is asked for
  Sums& accumulate(const Pass& pass);
  Sums& accumulate_once(const Pass& pass, bool& retry);
  void linearization_of(const Sums& sums, const PrecisionPlan& plan, Linearization& out) const;

  class Workers;
  std::size_t tiles_of_chunk(const Pass& pass, int n1) const;
  void merge(std::vector<Sums>& sums, int n1, bool alone);
  void sum_chunk(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums);
  template <class Use>
  void by_component(std::size_t begin, std::size_t end, Use use);
  double work_of(const Pass& pass, double row) const;
  PrecisionPlan plan_of_component(std::size_t component, const PrecisionPlan& plan) const;
  std::string component_name(std::size_t component) const;
  void note_near_limit(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums);
  void sum_gradients(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums);
  void sum_one_by_one(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums);
  // The user's derivatives on the rows of a re-check.
  class JacobianCheck;
  void check_jacobian(std::span<const double> x, const std::vector<TileRange>& groups, Recheck& out);

  RowModel& model_;
  Parallelism parallelism_;
  std::unique_ptr<Scratch> scratch_;
  std::unique_ptr<Workers> workers_;
  std::vector<Sums> sums_;             // of the chunks of a pass
  std::vector<PrecisionPlan> raised_;  // by component
  KernelCounters counters_;
  std::vector<KernelCounters> component_counters_;
  std::vector<PrecisionIssue> issues_, found_;  // since they were taken; of one pass
  double work_ = 0;
  std::size_t peak_bytes_ = 0;
  int threads_ = 1;
  double seconds_ = 0;
  bool timed_ = true;
  std::shared_ptr<DataSurvey> survey_;  // to be made; the rows are the data's
  bool linear_ = false;
  Box box_;
};

}  // namespace nlsq::inline v0
