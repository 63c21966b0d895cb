// Evaluates a block problem at a point: residuals and cost in f64, J in f32 or f64, with losses and manifolds
// applied. BlockSystem and the certificate use it.
#pragma once

#include "blocks/block_bounds.hpp"
#include "blocks/block_structure.hpp"
#include "support/parallel.hpp"

#include <nlsq/precision_policy.hpp>
#include <nlsq/problem_control.hpp>
#include "blocks/block_evaluator.hpp"
#include "blocks/windows/windowed_records.hpp"
#include "support/idle_pool.hpp"

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

class BlockModel {
 public:
  // If `control` is null, no callback runs before an evaluation. If `earlier` is not null, its constants and
  // memory are reused.
  BlockModel(const Problem::Impl& problem, const BlockStructure& structure, std::span<const double> x,
             const Parallelism& parallelism, const ProblemControl* control = nullptr,
             BlockModel* earlier = nullptr);
  // Starts another solve of the same structure. All constants are kept.
  void begin(const Parallelism& parallelism, const ProblemControl* control);
  void end();

  // Writes the residuals into r. Returns ½ Σ ρ(‖r_b‖²), or NaN if they cannot be evaluated.
  double cost(std::span<const double> x, std::vector<double>& r);
  // Returns ½ Σ ρ(‖r_b‖²) of known residuals.
  double cost_of(std::span<const double> r) const;
  // Evaluates J at x into the records of that format, with residuals, losses and manifolds. `r` must be the
  // residuals at x. Large records in f64 are evaluated in part when they are read (WindowedRecords), so
  // neither x nor r may change as long as records are read.
  template <class T>
  void linearize(std::span<const double> x, std::span<const double> r);
  // Returns the records of the last linearize in that format.
  template <class T>
  RecordReader<T>& records();
  // Must be called after linearize(x), when all records were read once. Records the functions again if many
  // blocks took another branch than their program, because such blocks are slow. It waits until they have
  // taken about as long as recordings take, since a small solve may end before.
  void settle(std::span<const double> x);
  // Keeps all records of the last linearize in f64, for readers that read them many times.
  void keep_all() {
    if (windowed_.in_use()) windowed_.keep_all();
  }
  // Exchanges the array of whole records in f64 with `others`, so that another point can be evaluated
  // besides. Windows are not exchanged.
  void exchange_records(std::vector<double>& others) { std::swap(J_f64_.numbers, others); }
  // Must be called when the whole records are again those of an earlier linearize<double>(x, r). Windows are
  // evaluated again.
  void return_to(std::span<const double> x, std::span<const double> r);
  // Frees the f32 records until the next linearize.
  void release_f32() { J_f32_.numbers = std::vector<float>(); }

  // Chooses, at the start of a solve, the format of the derivatives of each component where J is in f32, and
  // the largest f32 error allowed.
  void start_formats(const PrecisionPolicy& policy);
  // This is a program whose f32 derivatives were too inaccurate. It is evaluated in f64 from then on,
  // including at x.
  struct WidenedProgram {
    std::string component;  // empty if it has none
    std::size_t blocks = 0;
    double error = 0;
  };
  std::vector<WidenedProgram> take_widened() { return std::exchange(widened_, {}); }
  // For a J in f32 that is not finite: widens the programs that caused it. Returns false if there are none.
  bool widen_unbounded();
  void widen_all();
  bool all_wide() const;
  // Returns the largest sampled error of the programs in f32.
  double sampled_error() const { return sampled_error_; }
  // Returns rows and counters by component; empty if no component has a name.
  std::vector<ComponentSummary> components() const;

  // Extrapolates differences near x from now on, until end_extrapolation() (BlockEvaluator).
  void extrapolate_differences(std::span<const double> x) { evaluator_.extrapolate_differences(x); }
  void end_extrapolation() { evaluator_.end_extrapolation(); }
  // Returns the largest estimated relative error of a column of J in the last linearize<double>(), whose
  // differences were extrapolated and whose records were all read. On a manifold the columns of a parameter
  // block count together, because its own coordinates are combinations of them.
  double difference_error();

  // Sets whether linearize() applies the losses. By default it does.
  void apply_losses(bool apply) { losses_applied_ = apply; }

  // Sets the columns with held[j] = 1 (tangent indices) of the last linearize to zero.
  template <class T>
  void hold(std::span<const std::uint8_t> held);
  // Returns the decrease that the linear model predicts for a step: ½ Σ ‖r‖² - ½ Σ ‖r + J s‖².
  template <class T>
  double promised(std::span<const double> step);

  // Returns J times a step, by row, from complete records in f64.
  std::vector<double> times(std::span<const double> step);

  // Computes a finite difference of the residuals along a step: (r(x ⊞ h s) - r(x)) / h, weighted as the
  // records are. For linear residuals it equals J s. `r` holds the residuals at x. Returns false if a bound
  // interferes or a residual is not finite.
  bool moved_residuals(std::span<const double> x, std::span<const double> r, std::span<const double> step,
                       double h, std::vector<double>& moved);

  // Moves x by a step over tangent coordinates and projects it onto the bounds. Returns true if the bounds
  // changed it.
  bool plus(std::span<const double> x, std::span<const double> step, std::vector<double>& out) const;
  const BlockBounds& bounds() const { return bounds_; }
  // Returns ‖D x‖ over the numbers that tangent coordinates move. D is given by tangent index.
  double scaled_size(std::span<const double> x, std::span<const double> scale) const;

  // Compares r with the residuals from the user's own functions. `own` is memory for these.
  struct Recheck {
    double cost = 0;     // by the user's own functions
    double largest = 0;  // of the differences
    // In every block the difference is rounding error, relative to its residuals or to their terms.
    bool agrees = true;
  };
  Recheck recheck(std::span<const double> x, std::span<const double> r, std::vector<double>& own);
  // Returns bounds of the rounding errors of the residuals at x, from the recorded operations; 0 where no
  // bound is known.
  std::vector<double> rounding_bounds(std::span<const double> x);
  void distrust(std::string why);
  // Returns true if constants recorded in an earlier solve are in use.
  bool carried() const { return evaluator_.carried() > 0; }
  // Returns true if a block takes another branch than when it was recorded, or if residuals at a point near
  // recording_place() differ from the functions' own by more than rounding. Must be called after cost(x),
  // which gave r. The test at x alone is not enough, because a constant that multiplies a zero has no effect
  // there.
  bool carries_wrongly(std::span<const double> x, std::span<const double> r);
  // Records all functions again, at recording_place() if possible.
  void record_again(std::span<const double> x);

  const Problem::Impl& problem() const { return problem_; }
  const BlockEvaluator& evaluator() const { return evaluator_; }
  KernelCounters counters() const;
  int threads() const { return threads_; }
  std::size_t bytes() const;

 private:
  template <class T>
  WholeRecords<T>& storage();
  template <class T>
  RecordTarget<T> all_records() {
    return {.records = storage<T>().numbers.data()};
  }
  bool alone() const;
  void for_each_tile(const std::function<void(BlockPass&, std::size_t, std::size_t)>& work);
  template <class T>
  void add_times(std::size_t slot, const T* record, std::span<const double> step, double* out) const;
  bool differ(std::span<const double> x, std::span<const double> r, std::vector<double>& own, double relative,
              double of_terms, std::span<const double> before = {});
  void announce(std::span<const double> x, bool derivatives);
  void recheck_residuals(std::span<const double> x, std::vector<double>& own);
  std::vector<double> near(std::span<const double> x, std::uint32_t share) const;
  void apply_formats();
  void widen(std::size_t program, double error);
  void heed_samples(std::span<const double> x);
  std::uint32_t parts() const {
    return static_cast<std::uint32_t>(problem_.component_names.size()) + 1;
  }  // blocks without a name come first
  KernelCounters counters(std::uint32_t component) const;
  void keep_counters();

  const Problem::Impl& problem_;
  const BlockStructure& structure_;
  const Parallelism* parallelism_;
  const ProblemControl* control_;
  BlockBounds bounds_;
  std::vector<double> announced_;  // last point passed to the callbacks
  BlockEvaluator evaluator_;
  IdlePool<BlockPass> passes_{[this] { return evaluator_.begin(); }};
  std::vector<KernelCounters> earlier_;  // of passes that have ended, by component
  std::vector<int> escalations_of_;      // programs widened in this solve, by component
  std::vector<std::uint8_t> component_wide_;
  std::vector<WidenedProgram> widened_;
  double most_error_ = 1e-3, sampled_error_ = 0;
  RecordFinish finish_;
  WholeRecords<float> J_f32_;
  WholeRecords<double> J_f64_;  // or
  WindowedRecords windowed_;
  bool in_windows_ = false;  // the last linearize() wrote to windowed_
  bool losses_applied_ = true;
  int threads_ = 1;
  // Number of blocks that left their program in the last cost(), and in the last linearize() of all records
  // at once.
  std::size_t left_ = 0, left_by_derivatives_ = 0;
  std::size_t left_since_ = 0;  // sum of the latter since the functions were recorded
};

template <>
inline RecordReader<float>& BlockModel::records() {
  return J_f32_;
}
template <>
inline RecordReader<double>& BlockModel::records() {
  return windowed_.in_use() ? static_cast<RecordReader<double>&>(windowed_) : J_f64_;
}

}  // namespace nlsq::inline v0
