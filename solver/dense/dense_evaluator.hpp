// DenseEvaluator is the Evaluator over rows of any kind. Tiles of rows go to Gram or QR kernels, and their
// sums are combined in a fixed tree. Curve fits and residual functions use it.
#pragma once

#include "dense/data_survey.hpp"
#include "dense/evaluator.hpp"
#include "minimizer/box.hpp"

#include <nlsq/options.hpp>
#include "rows/row_model.hpp"

#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Is thrown if a recorded function took a branch that cannot be added to its program. Dual numbers must then
// replace the recording.
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
  bool by_calls() const override;
  bool rough(std::span<const double> x) const override { return model_.rough(x); }
  void renew(std::span<const double> x) override { model_.prepare(x, Fill::jacobian_and_residual); }
  bool extrapolate(bool on) override { return model_.extrapolate(on); }
  double difference_width(std::span<const double> x, std::size_t j) const override {
    return model_.difference_width(x, j);
  }
  // Returns the errors of J at the point of the latest pass (RowModel::derivative_errors).
  std::vector<double> derivative_errors(std::span<const double> x) const {
    return model_.derivative_errors(x);
  }
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
  double cost(std::span<const double> x, Format format) override;
  // Linearizes x and evaluates the cost at `beside`, in one pass over the data. Where the plan of some rows
  // is wider than `format`, their cost is computed in that plan.
  double linearize_beside(std::span<const double> x, const PrecisionPlan& plan,
                          std::span<const double> beside, Format format, Linearization& out) override;
  Probe probe(std::span<const double> x, const PrecisionPlan& plan) override;
  // Returns ‖r32 - r64‖ / ‖r64‖ on about a thousand rows, where r32 are f32 residuals and r64 those in f64.
  // The `linear` parameters are first set to their least-squares values on those rows. The result is the
  // relative error of f32 residuals at the start of a fit, beyond what the linear parameters explain. It is 0
  // if either norm is not finite, because the pass itself handles rows beyond a format's range.
  double low_row_error(std::span<const double> x, std::span<const int> linear);
  void recheck_into(std::span<const double> x, std::size_t max_rows, Recheck& out) override;
  double jacobian_error() const override;
  double second_order_into(std::span<const double> x, std::span<const double> direction, double h,
                           Vector& out) override;

  const KernelCounters& counters() const override { return counters_; }
  // Counters of the passes over each component's rows, in the order of components().
  std::span<const KernelCounters> component_counters() const { return component_counters_; }
  double counted_work() const override { return work_; }
  double pass_work(const PrecisionPlan& plan) const override;
  std::size_t bytes() const override { return peak_bytes_; }
  std::vector<PrecisionIssue> take_issues() override { return std::exchange(issues_, {}); }

  // Switches timing on. Otherwise seconds() stays 0, because reading the clock costs small fits a few percent
  // of their time.
  void keep_time(bool on) { timed_ = on; }
  void set_linear(bool on) { linear_ = on; }
  // Sets bounds that points evaluated beside x also respect. They must outlive their use.
  void keep_within(const Box& box) { box_ = box; }
  void set_parallelism(const Parallelism& parallelism) { parallelism_ = parallelism; }
  // Sets counters, work and time to zero. Memory is kept.
  void forget_work();
  // Surveys the data in the next pass over the rows. With null there is no survey.
  void survey_next(std::shared_ptr<DataSurvey> survey) {
    survey_ = survey && !survey->complete() ? std::move(survey) : nullptr;
  }
  // Adds the work of another evaluator over a part of the rows.
  void add_work(const DenseEvaluator& part);

  int threads() const { return threads_; }     // most threads that one pass ran on
  double seconds() const { return seconds_; }  // time spent in passes, in s; for reports only

  // Returns the sizes of residuals and derivatives at x, in f64.
  RowSizes sizes(std::span<const double> x);

 private:
  struct Sums;     // packed Gram sums of [J | r], or R, with flags and issues
  struct Scratch;  // passes and buffers that one worker reuses
  class TileFolder;
  struct Pass;     // what a pass is to compute: x, plan, whether derivatives or residuals alone
  struct Share;    // the chunks of a pass that this process sums
  struct Account;  // what a pass reports besides its sums
  // Runs a pass, or takes its sums from the journal. The result stays valid until the next pass.
  Sums& accumulate(const Pass& pass);
  Sums& accumulate_now(const Pass& pass);
  // Does the same without repetition. Sets `retry` if a row took a branch that was not recorded before; then
  // the pass must be run again.
  Sums& accumulate_once(const Pass& pass, bool& retry);
  void linearization_of(const Sums& sums, const PrecisionPlan& plan, Linearization& out) const;

  class Workers;
  int sum_columns(const Pass& pass) const;  // of [J | r], or of r alone
  std::size_t tiles_of_chunk(const Pass& pass, int n1) const;
  Share all_chunks(const Pass& pass) const;
  std::size_t first_row(const Share& share, std::size_t chunk) const;
  void merge(const Share& part, std::size_t first_step, std::size_t last_step, int n1, bool alone);
  void sum_share(const Share& share, const Pass& pass, bool alone);
  Account account_of(const Share& share) const;
  // The next two functions are for the processes of a team (dense_exchange.cpp).
  Share share_of_team(const Share& all, double work) const;
  void exchange(const Share& share, const Pass& pass, Account& account, const char* failure);
  // The next four functions are for the journal (dense_journal.cpp).
  std::uint64_t request_of(const Pass& pass) const;
  Sums& accumulate_kept(const Pass& pass);
  Sums& take_kept(const Pass& pass, std::string_view bytes);
  void survey_alone(const Pass& pass);
  void sum_chunk(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums);
  template <class Use>
  void by_component(std::size_t begin, std::size_t end, Use use);
  double work_of(const Pass& pass, double row) const;
  double row_work(const Pass& pass) const;  // of a row in f64, at both points of the pass
  PrecisionPlan plan_of_component(std::size_t component, const PrecisionPlan& plan) const;
  std::string component_name(std::size_t component) const;
  void note_near_limit(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums);
  void sum_gradients(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums);
  void sum_second_order(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums);
  void sum_one_by_one(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums);
  // Checks the user's derivatives on the rows of a recheck.
  class JacobianCheck;
  void check_effect(const JacobianCheck& check, double share, Recheck& out);
  void check_jacobian(std::span<const double> x, const std::vector<TileRange>& groups, Recheck& out);

  RowModel& model_;
  Parallelism parallelism_;
  std::unique_ptr<Scratch> scratch_;
  std::unique_ptr<Workers> workers_;
  std::vector<Sums> sums_;             // one per chunk of a pass
  std::vector<PrecisionPlan> raised_;  // by component
  KernelCounters counters_;
  std::vector<KernelCounters> component_counters_;
  std::vector<PrecisionIssue> issues_, found_;  // since take_issues; of the current pass
  double work_ = 0;
  std::size_t peak_bytes_ = 0;
  int threads_ = 1;
  double seconds_ = 0;
  bool timed_ = true;
  std::shared_ptr<DataSurvey> survey_;  // the survey to make in the next pass, of the same data
  bool linear_ = false;
  Box box_;
};

}  // namespace nlsq::inline v0
