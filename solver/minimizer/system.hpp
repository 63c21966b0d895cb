// System is the interface between the loop and the problem it minimizes. DenseSystem implements it for curves
// and residual functions, BlockSystem for problems of parameter blocks; the tests contain one that replays
// prescribed numbers. The loop identifies points by x alone: matrices, residuals and factors stay inside the
// System. A System holds what it computed at the point x that it linearized last, and at one trial point.
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/minimizer_step_values.hpp"

#include <nlsq/precision_policy.hpp>
#include <nlsq/scheduler.hpp>

#include <optional>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Describes a change of format that a System made on its own, for the trace.
struct PrecisionNote {
  Event event = Event::none;
  std::string reason;
  std::vector<std::string> components;
};

// Describes a step whose end needs no pass, because bounds on what it leaves are known beforehand
// (docs/precision.md).
struct LastStep {
  double size = 0;  // ‖D s‖ / ‖D x‖
  // bounds on the remaining step, relative like `size`, and in standard errors
  double left = 0, left_sigma = 0;
  double gram_change = 0;  // ‖H⁻¹ ΔH‖, the change of the Gram matrix along it
};

// Says how x was reached. LastStep and the curvature of the last step need this.
struct Approach {
  const UndampedStep& undamped_step;  // at x
  double last_decrement = 0;          // ν₀ of the undamped step that led to x; 0 if the step was damped
  double last_step_size = 0;          // ‖D s₀‖ / ‖D x‖ of that step
  double cost_noise = 0;              // noise of the cost at x
  const Vector& scale;                // D
};

// Describes a step that was tried, for models that learn from steps.
struct TriedStep {
  std::span<const double> x, trial;
  double decrease = 0;  // decrease of the cost
  double trial_cost = 0;
  bool accepted = false, factored = false;
  int accepted_before = 0;  // steps accepted before this one
};

class System {
 public:
  virtual ~System() = default;

  // ---- size
  virtual std::size_t residuals() const = 0;
  virtual std::size_t parameters() const = 0;  // length of a step
  // Returns σ = √(2F/(m-n)), or 1. Without degrees of freedom it is 0, and ‖r‖ for a block problem.
  virtual double scatter_at(double cost) const = 0;
  // True for block problems: their residuals are in float64 under any plan and cost far less than
  // derivatives, so plans concern J alone.
  virtual bool residuals_stay_f64() const { return false; }
  virtual PrecisionPlan first_plan(const PrecisionPolicy& policy) = 0;
  // True if a pass is too cheap to be worth saving.
  virtual bool passes_are_cheap() const { return false; }

  // ---- the point x
  virtual bool known() const = 0;  // the linearization of x is available
  virtual void forget() = 0;
  // If the derivatives at x are less accurate than they can be, forgets them, so that linearize() computes
  // better ones, and returns true.
  virtual bool forget_rough(std::span<const double> /*x*/) { return false; }
  // Takes all derivatives from here on by the most accurate differences, which cost several times as much.
  // Returns false if there are no better differences than those in use.
  virtual bool extrapolate_derivatives() { return false; }
  // Does the same at a certified point, but only if errors of the differences used so far may noticeably
  // change the distance to the optimum or the standard errors. `tests` are those of the certificate.
  virtual bool extrapolate_rough_derivatives(std::span<const double> /*x*/, const Certificate& /*c*/,
                                             const CertificateTests& /*tests*/) {
    return false;
  }
  // Extrapolated differences have estimated errors. Returns the relative error of the standard errors that
  // follows from those at x, or 0 if derivatives are not extrapolated.
  virtual double error_by_differences(const Certificate& /*c*/) const { return 0; }
  virtual const PointCost& at() const = 0;
  virtual bool by_qr() const { return false; }  // at() has the triangle of a QR pass
  virtual void linearize(std::span<const double> x, const PrecisionPlan& plan) = 0;
  virtual double cost(std::span<const double> x, Format format) = 0;
  virtual void column_norms(Vector& out) const = 0;
  virtual double scaled_size(std::span<const double> x, std::span<const double> scale) const = 0;  // ‖D x‖
  virtual double gradient_cosine(std::span<const double> x) = 0;
  // Returns true if every |g_j| is within its rounding bound.
  virtual bool gradient_is_noise(std::span<const double> x, const Recheck& rounding) = 0;
  // Returns true if the residuals at x are nothing but their own rounding errors. Only a System that measures
  // these itself implements it. `initial_cost` is the cost at the start, and `left` is ν of the step from x,
  // in standard errors. `no_progress` says that the last step did not help.
  virtual bool residuals_vanish(double /*initial_cost*/, double /*left*/, bool /*no_progress*/) {
    return false;
  }
  // Prepares for steps from x. Must be called after linearize. `scale` is D. Below f64, it also probes
  // samples of the rows.
  virtual void prepare(std::span<const double> x, const Vector& scale) = 0;
  // Computes the undamped step at x. `near` is the largest distance of interest, in standard errors. The step
  // is not computed (usable = false) if it costs as much as a damped one and the damped step's ν is larger
  // than `near`.
  virtual void solve_undamped(std::span<const double> x, double lambda, double near, UndampedStep& out) = 0;
  // Returns the noise of the cost from rows below f64, as the probe at x measured it.
  virtual double probed_cost_noise() const { return 0; }

  // ---- steps from x
  virtual void solve(double lambda, Step& out) = 0;
  // Sets how accurately iterative solvers must compute steps, until the next call. `decrease` is the relative
  // decrease of the cost by the last step. With 0, they are as accurate as the certificate needs.
  virtual void set_solve_accuracy(double /*decrease*/) {}
  virtual bool solves_iteratively() const { return false; }
  virtual void shorten_to_radius(double /*radius*/, Step& /*step*/) {}
  // Returns ν of the gradient alone, which the step should reduce to zero.
  virtual double gradient_left(const Step& step) const { return step.nu; }
  // Adds half the geodesic acceleration to the step. Returns 2‖D a‖ / ‖D s‖, or NaN if it is not available.
  virtual double accelerate(std::span<const double> x, const Vector& scale, Step& step, double most) = 0;
  // Corrects an undamped step for the curvature of the residuals, measured on a part of the rows. DenseSystem
  // does so for the first undamped step where there are many rows.
  virtual void correct_undamped_step(std::span<const double> /*x*/, const Approach& /*approach*/,
                                     Step& /*step*/) {}
  // Sets trial = x + step, within the bounds and rounded to the numbers for which the plan evaluates rows. If
  // a bound shortens the step, `step` and its prediction are updated. With `exact`, trial is not rounded.
  virtual bool plus(std::span<const double> x, Step& step, Vector& trial, bool exact = false) = 0;
  virtual void measure(std::span<const double> x, const Step& step, HealthReport& health) = 0;
  virtual void rule_values(RuleValues& /*values*/) const {}
  // Evaluates derivatives in f64 from here on, whatever format stores them. Returns false if they already
  // are.
  virtual bool evaluate_widely() { return false; }
  // Raises only the components that caused a decision, if that changes anything. Returns their names.
  virtual std::vector<std::string> raise_causes(Decision& /*decision*/, const HealthReport& /*health*/,
                                                const Thresholds& /*thresholds*/) {
    return {};
  }

  // ---- the trial point
  // Linearizes the trial point. `damped` says that the step was damped. A System that eliminates parameters
  // may move the trial point to where these are optimal.
  virtual const PointCost& linearize_trial(Vector& trial, const PrecisionPlan& plan, bool damped = false) = 0;
  // Linearizes the trial point of an undamped step. Returns the cost in f64 at the point `beside`, by the
  // same pass where that is possible.
  virtual double linearize_trial_beside(Vector& trial, const PrecisionPlan& plan,
                                        std::span<const double> beside) {
    linearize_trial(trial, plan);
    return cost(beside, Format::f64);
  }
  virtual bool trial_known() const = 0;
  virtual const PointCost& trial() const = 0;
  // Returns true if the trial's cost is known only with its linearization.
  virtual bool trial_needs_linearization() const { return false; }
  // Returns true if the trial's gradient, in the metric of H at x, is smaller than gradient_left(step) +
  // slack.
  virtual bool trial_gradient_falls(const Step& step, double lambda, double slack) = 0;
  // Computes the gain ratio of the step from x to the trial point from the gradients at these two points
  // (rules::gain_by_slopes). Returns 1 if the System does not keep both. Call it after
  // trial_gradient_falls().
  virtual double gain_by_gradients(std::span<const double> /*x*/, std::span<const double> /*trial*/,
                                   const Step& /*step*/) const {
    return 1;
  }
  virtual void accept_trial() = 0;   // makes the trial point the new x
  virtual void restore_point() = 0;  // Undoes accept_trial. Nothing may have been called in between.
  virtual void drop_trial() = 0;

  // ---- models that learn from steps
  // Learns from a tried step. Returns true if the model changed; steps must then be prepared again.
  virtual bool learn(const TriedStep& /*tried*/) { return false; }
  virtual bool curvature_in_use() const { return false; }
  virtual void forget_curvature() {}
  // Decides again which parameters are eliminated. Must be called when x is still the start and is now known
  // in f64.
  virtual void decide_elimination_again() {}
  // Returns true if the start is known in too few digits to decide which parameters are eliminated. Until it
  // is known in f64, no parameter is eliminated.
  virtual bool elimination_needs_f64() const { return false; }
  virtual std::span<const int> eliminated() const { return {}; }

  // Computes a step by second derivatives of the cost and its predicted decrease, for few unknowns. Returns
  // false if there is none.
  virtual bool second_order_step(Step& /*out*/) { return false; }
  virtual bool has_second_order() const { return false; }

  // ---- the end
  virtual void recheck(std::span<const double> x, std::size_t rows, Recheck& out) = 0;
  // Returns true if the discrepancy found by a recheck is rounding. `tau_sigma` is the distance that is
  // tolerated.
  virtual bool recheck_agrees(const Recheck& found, double tau_sigma) const {
    return found.largest <= 1e-9 || found.discrepancy <= tau_sigma;
  }
  virtual void certify(std::span<const double> x, const CertificateTests& tests, Certified& out) = 0;
  // Returns true if the last certificate was left undecided because conjugate gradients ended above their
  // tolerance. More iterations would not pay.
  virtual bool certificate_was_cut_short() const { return false; }
  // Returns true if the last certificate found a lower cost although x had passed its first-order tests, as
  // on a saddle. The certificate's step leads there.
  virtual bool certificate_found_lower() const { return false; }
  // Returns true if the last certificate's step promises to remove most of residuals that have nearly
  // vanished.
  virtual bool certificate_promises_zero() const { return false; }
  // The distances from x to its bounds; empty without bounds.
  virtual Box room(std::span<const double> /*x*/) { return Box(); }
  // Sets trial to the end of an undamped step that needs no pass there, and prepares what accept_trial takes
  // over. Returns nothing if such a step is not allowed. `not_again` is set to true if another attempt in
  // this solve would not be worth its cost.
  virtual std::optional<LastStep> last_step(std::span<const double> /*x*/, const Approach& /*approach*/,
                                            double /*tau*/, double /*xtol*/, Vector& /*trial*/,
                                            bool& /*not_again*/) {
    return std::nullopt;
  }
  // Steps with the kept Gram matrix and f64 gradients (minimizer_finish.cpp). Work is in f64 adds.
  virtual double gradient_work() const { return pass_work(kF64Plan); }
  virtual std::optional<PointCost> gradient_trial(std::span<const double> /*trial*/) { return std::nullopt; }
  virtual double trial_gradient_norm() const { return 0; }
  virtual void accept_gradient() {}
  virtual void solve_with_gram_kept(const Vector& /*scale*/, Step& /*step*/) {}

  // ---- counters
  virtual const KernelCounters& counters() const = 0;
  // Work is in f64 adds. By default it is not counted, and all passes cost the same.
  virtual double counted_work() const { return 0; }
  virtual double pass_work(const PrecisionPlan& /*plan*/) const { return 1; }
  virtual std::vector<PrecisionIssue> take_issues() { return {}; }
  virtual std::vector<PrecisionNote> take_notes() { return {}; }
};

}  // namespace nlsq::inline v0
