// Defines a System without a model. It answers the loop with numbers that a test invents, and notes what it
// was asked.
#pragma once

#include <minimizer/system.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace scripted {

using namespace nlsq;

// It has one parameter. A test replaces the functions that it is about. The others describe a parabola with
// its minimum at 0 and cost 1 + x²/2.
class ScriptedSystem : public System {
 public:
  std::function<double(double)> cost_at = [](double x) { return 1 + 0.5 * x * x; };
  std::function<double(double)> slope_at = [](double x) { return x; };
  std::function<bool(double, const PrecisionPlan&)> finite_at = [](double, const PrecisionPlan&) {
    return true;
  };
  std::function<bool(double)> factored_at = [](double) { return true; };  // depends on the damping
  std::function<Certified(double)> certificate_at;  // if none: passes where the slope is below 1e-8
  std::function<void(HealthReport&)> health = [](HealthReport&) {};
  bool undamped_step_usable = true, apart = false, gradient_falls = true, iterative = false, agrees = true;
  double gradient_gain = 1;    // gain ratio by the gradients at both ends of a step
  double term_size = 0;        // size of the terms of the residuals, for rounding
  double predicted_share = 1;  // ratio of the predicted decrease to the model's
  double probed_noise = 0;     // noise of costs below f64
  PrecisionPlan first = {Format::f64, Gram::f64};
  std::vector<std::string> calls;
  std::vector<double> dampings, points;  // arguments of solve, and of linearize
  std::vector<double> slacks;            // arguments of trial_gradient_falls

  std::size_t residuals() const override { return 100; }
  std::size_t parameters() const override { return 1; }
  double scatter_at(double) const override { return 1; }
  bool residuals_stay_f64() const override { return apart; }
  PrecisionPlan first_plan(const PrecisionPolicy&) override { return first; }
  bool known() const override { return known_; }
  void forget() override { known_ = false; }
  const PointCost& at() const override { return at_; }
  void linearize(std::span<const double> x, const PrecisionPlan& plan) override {
    note("linearize " + short_name(plan));
    points.push_back(x[0]);
    at_ = model(x[0], plan);
    x_ = x[0];
    known_ = true;
  }
  double cost(std::span<const double> x, Format format) override {
    note(std::string("cost ") + name(format));
    return cost_at(x[0]);
  }
  void column_norms(Vector& out) const override { out.assign(1, 1.0); }
  double scaled_size(std::span<const double> x, std::span<const double>) const override {
    return std::fabs(x[0]);
  }
  double gradient_cosine(std::span<const double> x) override { return std::fabs(slope_at(x[0])); }
  bool gradient_is_noise(std::span<const double>, const Recheck&) override { return false; }
  void prepare(std::span<const double> x, const Vector&) override { x_ = x[0]; }
  void solve_undamped(std::span<const double> x, double, double, UndampedStep& out) override {
    out = {};
    out.usable = undamped_step_usable;
    out.condition = 1;
    out.decrement = out.decrement_sigma = std::fabs(slope_at(x[0]));
    out.step = {-slope_at(x[0])};
    out.step_size = x[0] == 0 ? 0 : std::fabs(slope_at(x[0]) / x[0]);
  }
  double probed_cost_noise() const override { return probed_noise; }
  void solve(double lambda, Step& out) override {
    note("solve");
    dampings.push_back(lambda);
    const double g = slope_at(x_);
    out.factored = factored_at(lambda);
    out.step = {-g / (1 + lambda)};
    out.scaled_norm = std::fabs(out.step[0]);
    out.nu = std::fabs(g) / std::sqrt(1 + lambda);
    out.predicted = predicted_share * 0.5 * g * g / (1 + lambda);
    out.condition = 1;
    out.held.clear();
  }
  bool solves_iteratively() const override { return iterative; }
  void set_solve_accuracy(double decrease) override {
    if (decrease == 0) note("solve tightly");
  }
  double accelerate(std::span<const double>, const Vector&, Step&, double) override {
    note("accelerate");
    return 0.001;
  }
  bool plus(std::span<const double> x, Step& step, Vector& trial, bool) override {
    trial.assign(1, x[0] + step.step[0]);
    return false;
  }
  void measure(std::span<const double>, const Step&, HealthReport& report) override { health(report); }
  const PointCost& linearize_trial(Vector& trial, const PrecisionPlan& plan, bool) override {
    note("linearize trial " + short_name(plan));
    trial_x_ = trial[0];
    trial_ = model(trial[0], plan);
    return trial_;
  }
  bool trial_known() const override { return !std::isnan(trial_x_); }
  const PointCost& trial() const override { return trial_; }
  bool trial_gradient_falls(const Step&, double, double slack) override {
    note("gradient asked");
    slacks.push_back(slack);
    return gradient_falls;
  }
  double gain_by_gradients(std::span<const double>, std::span<const double>, const Step&) const override {
    return gradient_gain;
  }
  void accept_trial() override {
    at_ = trial_;
    x_ = trial_x_;
    trial_x_ = std::numeric_limits<double>::quiet_NaN();
    known_ = true;
  }
  void restore_point() override { known_ = false; }
  void drop_trial() override { trial_x_ = std::numeric_limits<double>::quiet_NaN(); }
  void recheck(std::span<const double>, std::size_t, Recheck& out) override {
    out.rows = 1;
    out.magnitude = out.cost_magnitude = term_size;
  }
  bool recheck_agrees(const Recheck&, double) const override { return agrees; }
  void certify(std::span<const double> x, const CertificateTests&, Certified& out) override {
    note("certify");
    out = {};
    if (certificate_at) {
      out = certificate_at(x[0]);
    } else {
      out.first_order = out.certificate.passed = std::fabs(slope_at(x[0])) < 1e-8;
      out.certificate.verdict = out.first_order ? Verdict::converged : Verdict::failed;
      out.step = {-slope_at(x[0])};
    }
    out.certificate.cost = at_.cost;
  }
  const KernelCounters& counters() const override { return counters_; }

  int count(const std::string& call) const {
    int found = 0;
    for (const std::string& c : calls) found += c.starts_with(call) ? 1 : 0;
    return found;
  }

 private:
  void note(std::string call) { calls.push_back(std::move(call)); }
  PointCost model(double x, const PrecisionPlan& plan) const {
    PointCost out;
    out.plan = plan;
    out.finite = finite_at(x, plan);
    out.cost = out.finite ? cost_at(x) : std::numeric_limits<double>::quiet_NaN();
    return out;
  }

  PointCost at_, trial_;
  double x_ = 0, trial_x_ = std::numeric_limits<double>::quiet_NaN();
  bool known_ = false;
  KernelCounters counters_;
};

}  // namespace scripted
