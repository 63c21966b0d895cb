// The numbers of a block problem at a point: residuals and cost in f64, J in f32 or f64, with losses and
// manifolds applied.
#pragma once

#include "blocks/block_bounds.hpp"
#include "blocks/block_structure.hpp"
#include "support/parallel.hpp"

#include <nlsq/precision_policy.hpp>
#include <nlsq/problem_control.hpp>
#include "blocks/block_evaluator.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

class BlockModel {
 public:
  // `control` may be null: nobody is told before an evaluation. So may `earlier`, whose constants and memory
  // serve again.
  BlockModel(const Problem::Impl& problem, const BlockStructure& structure, std::span<const double> x,
             const Parallelism& parallelism, const ProblemControl* control = nullptr,
             BlockModel* earlier = nullptr);
  // Another solve of the same structure: all constants are taken over.
  void begin(const Parallelism& parallelism, const ProblemControl* control);
  void end();

  // Residuals into r; returns ½ Σ ρ(‖r_b‖²), NaN where there are none.
  double cost(std::span<const double> x, std::vector<double>& r);
  // J at x into the records of that format. `r` must be the residuals there.
  template <class T>
  void linearize(std::span<const double> x, std::span<const double> r);
  template <class T>
  const T* records() const;
  // Their memory is free until the next linearize.
  template <class T>
  void release() {
    storage<T>() = std::vector<T>();
  }
  // Completes the records of slots [first, last): residuals, losses, manifolds. Once after each linearize.
  template <class T>
  void finish(std::size_t first, std::size_t last);

  // What derivatives are evaluated in where J is in f32, of each part of the problem, and how wrong f32 may
  // be: at the start of a solve.
  void start_formats(const PrecisionPolicy& policy);
  // A program whose f32 derivatives were seen to be spoilt: it is evaluated in f64 from then on, and was at
  // x.
  struct WidenedProgram {
    std::string component;  // "": none
    std::size_t blocks = 0;
    double error = 0;
  };
  std::vector<WidenedProgram> take_widened() { return std::exchange(widened_, {}); }
  // After finish(), where J in f32 is not finite: programs to blame for it become wide. False: none is left.
  bool widen_unbounded();
  void widen_all();
  bool all_wide() const;
  // Largest error of the programs that are in f32, at the blocks last looked at.
  double sampled_error() const { return sampled_error_; }
  // Rows and counters; none where nothing has a name.
  std::vector<ComponentSummary> components() const;

  // Whether finish() weighs by losses: as it does without being told.
  void apply_losses(bool apply) { losses_applied_ = apply; }

  // After finish: columns with a 1, by tangent numbers, become zero.
  template <class T>
  void hold(std::span<const std::uint8_t> held);
  // What the linear model of the records promises for a step: ½ Σ ‖r‖² - ½ Σ ‖r + J s‖².
  template <class T>
  double promised(std::span<const double> step) const;

  // J times a step, by row, from finished records in f64.
  std::vector<double> times(std::span<const double> step) const;

  // What J times a step would be if the residuals were not linear, by a short way along it: (r(x ⊞ h s) -
  // r(x)) / h, weighted as the records are. `r`: residuals at x. False where a bound is in the way or a
  // residual is not finite.
  bool moved_residuals(std::span<const double> x, std::span<const double> r, std::span<const double> step,
                       double h, std::vector<double>& moved);

  // x moved by a step over tangent numbers, and back into its bounds. Returns whether they were in the way.
  bool plus(std::span<const double> x, std::span<const double> step, std::vector<double>& out) const;
  const BlockBounds& bounds() const { return bounds_; }
  // ‖D x‖, over the coordinates that tangent numbers move; D by tangent numbers.
  double scaled_size(std::span<const double> x, std::span<const double> scale) const;

  // r beside what the user's own code gives, which is left in `own`.
  struct Recheck {
    double largest = 0;  // difference
    bool repeats =
        true;  // in each block it is rounding, beside its own residuals or the terms they are made of
  };
  Recheck recheck(std::span<const double> x, std::span<const double> r, std::vector<double>& own);
  void distrust(std::string why);
  // Constants of functions that were not called in this solve.
  bool carried() const { return evaluator_.carried() > 0; }
  // After cost(x): a block decides otherwise than it did when it was called; or, near x, its residuals differ
  // from the functions' own by more than rounding. At x itself they may be the same though the functions are
  // not: what multiplies a zero does not show.
  bool carries_wrongly(std::span<const double> x);
  // All functions are called at x.
  void record_again(std::span<const double> x);

  const Problem::Impl& problem() const { return problem_; }
  const BlockEvaluator& evaluator() const { return evaluator_; }
  KernelCounters counters() const;
  int threads() const { return threads_; }
  std::size_t bytes() const;

 private:
  template <class T>
  std::vector<T>& storage();
  bool alone() const;
  void for_each_tile(const std::function<void(BlockPass&, std::size_t, std::size_t)>& work);
  struct LossWeight {
    double root = 1;   // √ρ'
    double along = 0;  // 0, or what stretches J along r
  };
  LossWeight weight_of(std::size_t slot, const double* r) const;
  template <class T>
  void stretch_along_residual(T* record, std::size_t slot, std::size_t residual, const double* r,
                              const LossWeight& weight) const;
  bool differ(std::span<const double> x, std::span<const double> r, std::span<const double> own,
              double relative, double of_terms);
  void announce(std::span<const double> x, bool derivatives);
  void recheck_residuals(std::span<const double> x, std::vector<double>& own);
  std::vector<double> near(std::span<const double> x) const;
  void reclassify(std::span<const double> x, std::size_t left);
  void apply_formats();
  void widen(std::size_t program, double error);
  void heed_samples(std::span<const double> x);
  std::uint32_t parts() const {
    return static_cast<std::uint32_t>(problem_.component_names.size()) + 1;
  }  // blocks without a name first
  KernelCounters counters(std::uint32_t component) const;
  void keep_counters();

  const Problem::Impl& problem_;
  const BlockStructure& structure_;
  const Parallelism* parallelism_;
  const ProblemControl* control_;
  BlockBounds bounds_;
  std::vector<double> announced_;  // where functions were called last, where somebody is told
  BlockEvaluator evaluator_;
  std::vector<std::unique_ptr<BlockPass>> passes_;  // of each task
  std::vector<KernelCounters> earlier_;             // of passes that are gone, by component
  std::vector<int> escalations_of_;                 // programs widened in this solve, by component
  std::vector<std::uint8_t> component_wide_;
  std::vector<WidenedProgram> widened_;
  double most_error_ = 1e-3, sampled_error_ = 0;
  std::vector<float> J_f32_;
  std::vector<double> J_f64_;
  std::span<const double> r_;
  std::vector<double> plus_;              // Jacobians of the manifolds at x
  std::vector<std::size_t> plus_offset_;  // by parameter block
  bool losses_applied_ = true;
  int threads_ = 1;
  std::size_t left_ = 0;  // blocks that left their program when the cost was asked last
};

}  // namespace nlsq::inline v0
