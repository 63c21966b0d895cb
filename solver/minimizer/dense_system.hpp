// DenseSystem is the System of a problem with few parameters and any number of rows. It keeps JᵀJ, or the
// triangle of a QR pass over all rows. Curve fits and residual functions use it.
#pragma once

#include "certificate/certificate.hpp"
#include "linear/linear_solver.hpp"
#include "minimizer/residual_curvature.hpp"
#include "minimizer/system.hpp"
#include "minimizer/variable_projection.hpp"
#include "support/kept.hpp"

#include <nlsq/options.hpp>

namespace nlsq::inline v0 {

// Holds the settings of a solve, besides the rows.
struct DenseRequest {
  const SolverOptions& options;
  bool unit_sigma = false;
  Box box = {};  // Bounds on the parameters; must outlive the solve.
  // Parameters that enter the model linearly together. Damped steps may eliminate them.
  std::span<const int> linear = {};
  bool extrapolates = true;  // false if it must not switch to extrapolated differences
};

// One object serves many solves and reuses its memory. It never reads values of an earlier solve.
class DenseSystem final : public System {
 public:
  // Must be called before each solve. `evaluator` must outlive the solve.
  void begin(Evaluator& evaluator, const DenseRequest& request);
  // Takes over a linearization already made at the start, with its memory. The iteration then begins in the
  // plan of that linearization.
  void adopt(Kept<Linearization>& at) {
    if (at) at_.swap(at);
  }
  const Linearization& linearization() const { return *at_; }
  void release(Linearization& out) { std::swap(out, *at_), at_.reset(); }
  // Returns true if this solve has switched to extrapolated differences.
  bool extrapolated() const { return extrapolated_; }

  std::size_t residuals() const override { return evaluator_->residuals(); }
  std::size_t parameters() const override { return static_cast<std::size_t>(evaluator_->parameters()); }
  double scatter_at(double cost) const override {
    return scatter(cost, residuals(), parameters(), unit_sigma_);
  }
  PrecisionPlan first_plan(const PrecisionPolicy& policy) override;
  bool passes_are_cheap() const override;

  bool known() const override { return static_cast<bool>(at_); }
  void forget() override { at_.reset(); }
  bool forget_rough(std::span<const double> x) override;
  bool extrapolate_derivatives() override { return extrapolates_ && extrapolate(); }
  double error_by_differences(const Certificate& c) const override;
  bool extrapolate_rough_derivatives(std::span<const double> x, const Certificate& c,
                                     const CertificateTests& tests) override;
  const PointCost& at() const override { return *at_; }
  bool by_qr() const override { return !at_->triangle.empty(); }
  void linearize(std::span<const double> x, const PrecisionPlan& plan) override {
    evaluator_->linearize_into(x, plan, at_.renew());
  }
  double cost(std::span<const double> x, Format format) override { return evaluator_->cost(x, format); }
  void column_norms(Vector& out) const override { nlsq::column_norms(*at_, out); }
  double scaled_size(std::span<const double> x, std::span<const double> scale) const override;
  double gradient_cosine(std::span<const double> x) override { return nlsq::gradient_cosine(*at_, room(x)); }
  bool gradient_is_noise(std::span<const double> x, const Recheck& rounding) override;
  void prepare(std::span<const double> x, const Vector& scale) override;
  void solve_undamped(std::span<const double> x, double lambda, double near, UndampedStep& out) override;
  double probed_cost_noise() const override { return probe_->cost_noise; }

  void solve(double lambda, Step& out) override { solver_->solve(lambda, out); }
  void shorten_to_radius(double radius, Step& step) override { solver_->shorten_to_radius(radius, step); }
  double gradient_left(const Step& step) const override;
  double accelerate(std::span<const double> x, const Vector& scale, Step& step, double most) override;
  void correct_undamped_step(std::span<const double> x, const Approach& approach, Step& step) override;
  bool plus(std::span<const double> x, Step& step, Vector& trial, bool exact) override;
  void measure(std::span<const double> x, const Step& step, HealthReport& health) override;
  void rule_values(RuleValues& values) const override;
  std::vector<std::string> raise_causes(Decision& decision, const HealthReport& health,
                                        const Thresholds& thresholds) override;

  const PointCost& linearize_trial(Vector& trial, const PrecisionPlan& plan, bool damped) override;
  double linearize_trial_beside(Vector& trial, const PrecisionPlan& plan,
                                std::span<const double> beside) override {
    return evaluator_->linearize_beside(trial, plan, beside, Format::f64, trial_at_.renew());
  }
  bool trial_known() const override { return static_cast<bool>(trial_at_); }
  const PointCost& trial() const override { return *trial_at_; }
  bool trial_needs_linearization() const override { return projection_.active(); }
  bool trial_gradient_falls(const Step& step, double lambda, double slack) override;
  double gain_by_gradients(std::span<const double> x, std::span<const double> trial,
                           const Step& step) const override;
  void accept_trial() override;
  void restore_point() override;
  void drop_trial() override { trial_at_.reset(); }

  bool learn(const TriedStep& tried) override;
  bool curvature_in_use() const override { return curvature_.in_use(); }
  void forget_curvature() override { curvature_.forget(); }
  void decide_elimination_again() override { projection_.decide_again(); }
  bool elimination_needs_f64() const override { return projection_.needs_f64(); }
  std::span<const int> eliminated() const override { return projection_.eliminated(); }

  void recheck(std::span<const double> x, std::size_t rows, Recheck& out) override;
  void certify(std::span<const double> x, const CertificateTests& tests, Certified& out) override;
  Box room(std::span<const double> x) override;
  std::optional<LastStep> last_step(std::span<const double> x, const Approach& approach, double tau,
                                    double xtol, Vector& trial, bool& not_again) override;
  double gradient_work() const override { return evaluator_->gradient_work(); }
  std::optional<PointCost> gradient_trial(std::span<const double> trial) override;
  double trial_gradient_norm() const override {
    return solver_->norm_in_metric(trial_at_ ? trial_at_->gradient : gradient_at_.gradient);
  }
  void accept_gradient() override;
  void solve_with_gram_kept(const Vector& scale, Step& step) override;

  const KernelCounters& counters() const override { return evaluator_->counters(); }
  double counted_work() const override { return evaluator_->counted_work(); }
  double pass_work(const PrecisionPlan& plan) const override { return evaluator_->pass_work(plan); }
  std::vector<PrecisionIssue> take_issues() override { return evaluator_->take_issues(); }

 private:
  bool low() const { return at_->plan.residual != Format::f64; }
  bool large() const;
  bool curvature_counts(int accepted) const;
  double add_acceleration(const Vector& scale, Step& step, double most);
  bool extrapolate() {
    const bool changed = evaluator_->extrapolate(true);
    extrapolated_ = extrapolated_ || changed;
    return changed;
  }
  void round_to_grid(Vector& trial) const;
  void project_trial(Vector& trial, const PrecisionPlan& plan);
  bool column_underflows() const;
  bool squares_underflow() const;
  void correct_gradient(const Vector& scale);
  double grid_noise(std::span<const double> x, const Step& step);
  std::vector<bool> causes_of(Event event, const HealthReport& health, const Thresholds& thresholds) const;

  Evaluator* evaluator_ = nullptr;
  const SolverOptions* options_ = nullptr;
  bool unit_sigma_ = false;
  bool extrapolates_ = true, extrapolated_ = false;
  Box box_;
  Kept<Linearization> at_, trial_at_, other_trial_at_;
  Linearization gradient_at_;  // cost and gradient only, from gradient_trial
  Kept<LinearSolver> solver_;  // factors at_
  UndampedSolver undamped_;
  std::optional<Probe> probe_;  // set where rows or Gram matrix are below f64
  Projection projection_;
  ResidualCurvature curvature_;
  Vector below_, above_, work_, acceleration_, better_;
};

// Returns the plan that a fit of these rows starts with: the narrowest plan of its components. The evaluator
// raises the other components to theirs.
PrecisionPlan first_plan(Evaluator& evaluator, const PrecisionPolicy& policy);

}  // namespace nlsq::inline v0
