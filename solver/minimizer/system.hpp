// What the loop asks of a problem it minimizes. DenseSystem serves curves and residual functions, BlockSystem
// problems of parameter blocks; tests have one that replays invented numbers. The loop knows points by x
// alone: matrices, residuals and factors stay inside. A system knows one point, x, where it was linearized
// last, and one trial point beside it.
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/minimizer_step_values.hpp"

#include <nlsq/precision_policy.hpp>
#include <nlsq/scheduler.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// A change of format that a system made by itself, for the trace.
struct PrecisionNote {
  Event event = Event::none;
  std::string reason;
  std::vector<std::string> components;
};

// A last step needs no pass at its end: what it leaves is known beforehand (docs/precision.md).
struct LastStep {
  double size = 0;                  // ‖D s‖ / ‖D x‖
  double left = 0, left_sigma = 0;  // bounds of what it leaves: of the same kind, and in standard errors
  double gram_change = 0;           // ‖H⁻¹ ΔH‖ along it
};

// What the loop knows of how x was reached, for LastStep and for the curvature of the last approach.
struct Approach {
  const FirstOrder& first;    // at x
  double last_decrement = 0;  // ν₀ where an undamped step led from to x; 0: none did
  double last_step_size = 0;  // and ‖D s₀‖ / ‖D x‖ there
  double cost_noise = 0;      // of the cost at x
  const Vector& scale;        // D
};

// A step that was tried, for models that learn from steps.
struct TriedStep {
  std::span<const double> x, trial;
  double decrease = 0;  // of the cost
  double trial_cost = 0;
  bool accepted = false, factored = false;
  int accepted_before = 0;  // steps accepted so far
};

class System {
 public:
  virtual ~System() = default;

  // ---- size
  virtual std::size_t residuals() const = 0;
  virtual std::size_t parameters() const = 0;        // length of a step
  virtual double scatter_at(double cost) const = 0;  // σ = √(2F/(m-n)), or 1; 0 without degrees of freedom
  // Residuals are evaluated in float64 at any plan, and cost far less than derivatives: plans are about J
  // alone.
  virtual bool derivatives_apart() const { return false; }
  virtual bool bounded() const { return false; }
  virtual PrecisionPlan first_plan(const PrecisionPolicy& policy) = 0;
  // The plan of a certificate's own step: as many digits as there are.
  virtual PrecisionPlan finest_plan() const { return {Format::f64, Gram::qr}; }
  // A pass costs nothing worth saving.
  virtual bool passes_are_free() const { return false; }

  // ---- x
  virtual void project(Vector& x) { (void)x; }  // into the bounds
  virtual bool known() const = 0;               // x was linearized, and what was found is still there
  virtual void forget() = 0;
  virtual const PointModel& at() const = 0;
  virtual bool by_qr() const { return false; }  // at() has the triangle of a QR pass
  virtual void linearize(std::span<const double> x, const PrecisionPlan& plan) = 0;
  virtual double cost(std::span<const double> x, Format format) = 0;
  virtual void column_norms(Vector& out) const = 0;
  virtual double scaled_size(std::span<const double> x, std::span<const double> scale) const = 0;  // ‖D x‖
  virtual double gradient_cosine(std::span<const double> x) = 0;
  // Every |g_j| is within its rounding bound.
  virtual bool gradient_is_noise(std::span<const double> x, const Recheck& rounding) = 0;
  // Ready for steps from x, after linearize: D is the scale of the parameters. Samples are probed where the
  // plan is below f64.
  virtual void prepare(std::span<const double> x, const Vector& scale, const PrecisionPolicy& policy) = 0;
  // `near`: standard errors that are of interest. Where first-order facts cost as much as a step, and the
  // damped step's ν is further away, they are left out (usable = false).
  virtual void first_order(std::span<const double> x, double lambda, double near, FirstOrder& out) = 0;
  // Noise of the cost by rows below f64, from the probe at x.
  virtual double probed_cost_noise() const { return 0; }

  // ---- steps from x
  virtual void solve(double lambda, Step& out) = 0;
  // Until the next call: how exactly steps have to be solved for, where that is iterative. `decrease`: of the
  // cost, relative, by the last step; 0: as exactly as the certificate needs it.
  virtual void set_solve_accuracy(double decrease) { (void)decrease; }
  virtual bool solves_iteratively() const { return false; }
  virtual void draw_back(double radius, Step& step) { (void)radius, (void)step; }
  // What a step is to do away with: ν of the gradient alone.
  virtual double gradient_left(const Step& step) const { return step.nu; }
  // Half the geodesic acceleration joins the step. Returns 2‖D a‖ / ‖D s‖, NaN where it is not to be had.
  virtual double accelerate(std::span<const double> x, const Vector& scale, Step& step, double most) = 0;
  // The first undamped step of a large problem follows the curvature that a part of the rows shows.
  virtual void bend_last_approach(std::span<const double> x, const Approach& approach, Step& step) {
    (void)x, (void)approach, (void)step;
  }
  // x moved by the step, within the bounds, on the grid that the plan's rows are evaluated on. Where a bound
  // cut the step short, step and its prediction are those of what is left of it. `exact`: not on the grid.
  virtual bool plus(std::span<const double> x, Step& step, Vector& trial, bool exact = false) = 0;
  void plus(std::span<const double> x, const FirstOrder& first, Vector& trial) {
    full_.step = first.step;
    full_.held = first.held;
    plus(x, full_, trial, true);
  }
  virtual void measure(std::span<const double> x, const Step& step, HealthReport& health) = 0;
  virtual void rule_values(RuleValues& values) const { (void)values; }
  // Derivatives are evaluated in f64 from here on, whatever they are stored in. False: they are already.
  virtual bool evaluate_widely() { return false; }
  // Raises alone the components to blame for a decision, where that changes anything, and gives their names.
  virtual std::vector<std::string> raise_blamed(Decision& decision, const HealthReport& health,
                                                const Thresholds& thresholds) {
    return (void)decision, (void)health, (void)thresholds, std::vector<std::string>{};
  }

  // ---- the trial point
  // `damped`: the step was. A system that eliminates parameters may move the trial point to where they are at
  // their best.
  virtual const PointModel& linearize_trial(Vector& trial, const PrecisionPlan& plan,
                                            bool damped = false) = 0;
  virtual bool trial_known() const = 0;
  virtual const PointModel& trial() const = 0;
  // Its cost is known only with its linearization.
  virtual bool trial_needs_linearization() const { return false; }
  // Its gradient, in the metric of H at x, is smaller than what the step was to do away with, plus `slack`.
  virtual bool trial_gradient_falls(const Step& step, double lambda, double slack) = 0;
  virtual void accept_trial() = 0;   // x is the trial point from here on
  virtual void restore_point() = 0;  // x is again what it was before accept_trial, which nothing has followed
  virtual void drop_trial() = 0;

  // ---- models that learn from steps
  // True: the model is another now, and steps are to be prepared again.
  virtual bool learn(const TriedStep& tried) { return (void)tried, false; }
  virtual bool curvature_in_use() const { return false; }
  virtual void forget_curvature() {}
  // No step was taken yet, and x is known in more digits now.
  virtual void see_start_again() {}
  virtual bool too_few_digits() const { return false; }
  virtual std::span<const int> eliminated() const { return {}; }

  // A step by second derivatives of the cost, for few unknowns, with what it promises. False: it is not to be
  // had.
  virtual bool second_order_step(Step& out) { return (void)out, false; }
  virtual bool has_second_order() const { return false; }

  // ---- the end
  virtual void recheck(std::span<const double> x, std::size_t rows, Recheck& out) = 0;
  // Whether what a recheck found is rounding. `tau_sigma`: a distance that may be.
  virtual bool recheck_agrees(const Recheck& found, double tau_sigma) const {
    return found.largest <= 1e-9 || found.discrepancy <= tau_sigma;
  }
  virtual bool squares_underflow() const { return false; }
  virtual void certify(std::span<const double> x, const CertificateTests& tests, Certified& out) = 0;
  // The last certificate was left open by conjugate gradients that ended without their goal. Longer runs
  // would not pay.
  virtual bool certificate_was_cut_short() const { return false; }
  virtual Box room(std::span<const double> x) { return (void)x, Box(); }
  // From x to trial by an undamped step that needs no pass at its end; at() is then what it must be there.
  // None: not allowed.
  virtual std::optional<LastStep> last_step(std::span<const double> x, const Approach& approach, double tau,
                                            double xtol, Vector& trial, bool& not_again) {
    return (void)x, (void)approach, (void)tau, (void)xtol, (void)trial, (void)not_again, std::nullopt;
  }
  // Steps with the Gram matrix kept and gradients in f64 (minimizer_finish.cpp). Work is counted, as
  // everywhere.
  virtual double gradient_work() const { return pass_work({Format::f64, Gram::f64}); }
  virtual std::optional<PointModel> gradient_trial(std::span<const double> trial) {
    return (void)trial, std::nullopt;
  }
  virtual double trial_gradient_norm() const { return 0; }
  virtual void accept_gradient() {}
  virtual void solve_with_gram_kept(const Vector& scale, Step& step) { (void)scale, (void)step; }

  // ---- accounts
  virtual const KernelCounters& counters() const = 0;
  virtual double counted_work() const = 0;  // f64 adds
  virtual double pass_work(const PrecisionPlan& plan) const = 0;
  virtual std::vector<PrecisionIssue> take_issues() { return {}; }
  virtual std::vector<PrecisionNote> take_notes() { return {}; }

 private:
  Step full_;
};

}  // namespace nlsq::inline v0
