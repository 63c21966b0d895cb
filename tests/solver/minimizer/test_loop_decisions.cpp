// Tests every decision of the loop without a model, by a system that replays invented numbers.
#include <minimizer/minimizer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scripted_system.hpp"

using namespace nlsq;
using scripted::ScriptedSystem;

namespace {

MinimizerResult minimize(ScriptedSystem& system, double x0, const SolverOptions& options) {
  MinimizerResult out;
  const Vector start{x0};
  Minimizer().run(system, {.options = options, .x0 = start, .begin = std::chrono::steady_clock::now()}, out);
  return out;
}

SolverOptions in(const char* policy) {
  SolverOptions options;
  options.precision = PrecisionPolicy::parse(policy);
  return options;
}

int escalations(const MinimizerResult& result) {
  int count = 0;
  for (const IterationSummary& it : result.summary.iterations) count += it.outcome == StepOutcome::escalated;
  return count;
}

constexpr PrecisionPlan kLowRows{Format::f32, Gram::f32_wide}, kLowJacobian{Format::f64, Gram::f32_tile};

}  // namespace

TEST_CASE("the loop walks to the minimum and concludes by the certificate alone") {
  ScriptedSystem system;
  const MinimizerResult result = minimize(system, 50, in("f64"));
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(std::fabs(result.x[0]) < 1e-8);
  CHECK(system.calls.back() == "certify");
}

TEST_CASE("a certificate that fails sends the loop on from its own step, and ends it after five tries") {
  ScriptedSystem system;
  int asked = 0;
  system.certificate_at = [&](double x) {
    Certified out;
    out.first_order = out.certificate.passed = ++asked > 2;
    out.certificate.verdict = Verdict::converged;
    out.step = {x == 0 ? 1e-12 : -x};
    return out;
  };
  CHECK(minimize(system, 50, in("f64")).summary.verdict == Verdict::converged);
  CHECK(asked == 3);

  ScriptedSystem never;
  never.certificate_at = [](double) {
    Certified out;
    out.step = {1e-12};
    return out;
  };
  const MinimizerResult result = minimize(never, 50, in("f64"));
  CHECK(result.summary.termination == Termination::no_progress);
  CHECK(result.summary.verdict == Verdict::budget);
  CHECK(never.count("certify") <= 7);
}

TEST_CASE("escalations are no iterations: max_iterations counts steps") {
  ScriptedSystem system;
  system.first = kLowRows;
  system.undamped_step_usable = false;
  int reports = 0;
  system.health = [&](HealthReport& h) {
    if (h.plan.residual == Format::f32 && ++reports == 2) h.gradient_noise = 1e9;
  };
  SolverOptions options = in("f32");
  options.max_iterations = 3;
  options.initial_lambda = 1;
  const MinimizerResult result = minimize(system, 1e6, options);
  CHECK(result.summary.termination == Termination::max_iterations);
  CHECK(escalations(result) == 1);
  CHECK(result.summary.accepted + result.summary.rejected == 3);
  CHECK(result.summary.iterations.size() == 4);
}

TEST_CASE(
    "a rejection raises the damping; an escalation takes it back to what it was before the rejections") {
  ScriptedSystem system;
  system.first = kLowRows;
  system.undamped_step_usable = false;
  bool uphill = true;  // until f64 is used
  system.cost_at = [&](double x) { return uphill && x != 50 ? 1e9 : 1 + 0.5 * x * x; };
  int reports = 0;
  system.health = [&](HealthReport& h) {
    if (h.plan.residual == Format::f64) return;
    if (++reports == 4) {
      uphill = false;
      h.gradient_noise = 1e9;
    }
  };
  const MinimizerResult result = minimize(system, 50, in("f32"));
  const auto& trace = result.summary.iterations;
  REQUIRE(trace.size() > 4);
  CHECK(trace[0].outcome == StepOutcome::rejected);
  CHECK(trace[2].lambda > trace[0].lambda);
  CHECK(trace[3].outcome == StepOutcome::escalated);
  CHECK(trace[4].lambda == trace[0].lambda);
}

TEST_CASE("near the optimum steps are undamped, and a failed one leaves the damping alone") {
  ScriptedSystem system;
  system.cost_at = [](double x) {
    return std::fabs(x) == 0.5 ? 10 + 0.5 * x * x : x == 0 ? 20 : 10 + 0.5 * x * x;
  };
  const MinimizerResult result = minimize(system, 0.5, in("f64"));
  const auto& trace = result.summary.iterations;
  REQUIRE(trace.size() > 1);
  CHECK(trace[0].lambda == 0);
  CHECK(trace[0].outcome == StepOutcome::rejected);
  CHECK(trace[1].lambda == SolverOptions().initial_lambda);
}

TEST_CASE("a difference that the costs' rounding covers is left to the gradient") {
  for (const bool falls : {true, false}) {
    ScriptedSystem system;
    system.cost_at = [](double) { return 1e6; };  // no difference is visible
    system.term_size = 1e10;
    system.gradient_falls = falls;
    minimize(system, 1e-3, in("f64"));
    CHECK(system.count("gradient asked") > 0);
    CHECK((system.count("linearize f64") >= 1));
  }
}

TEST_CASE("the gradient that judges a step tells its gain ratio, too, so poor steps are damped more") {
  for (const double gain : {1.0, 0.05}) {
    CAPTURE(gain);
    ScriptedSystem system;
    system.cost_at = [](double) { return 1e6; };  // no difference is visible
    system.term_size = 1e14;
    system.undamped_step_usable = false;
    system.gradient_gain = gain;
    SolverOptions options = in("f64");
    options.initial_lambda = 1;
    const MinimizerResult result = minimize(system, 1, options);
    const auto& trace = result.summary.iterations;
    REQUIRE(trace.size() > 1);
    CHECK(trace[0].outcome == StepOutcome::accepted);
    CHECK(trace[0].rho == gain);
    CHECK((trace[1].lambda < trace[0].lambda) == (gain == 1));
  }
}

TEST_CASE("below f64 an undecided step is judged by two costs in f64") {
  ScriptedSystem system;
  system.first = kLowRows;
  system.undamped_step_usable = false;
  system.probed_noise = 1e12;
  minimize(system, 50, in("f32"));
  CHECK(system.count("cost f64") >= 2);
}

TEST_CASE(
    "a start that is not finite in f32 is evaluated in f64; if it is not finite there, the solve fails") {
  ScriptedSystem low;
  low.first = kLowRows;
  low.finite_at = [](double, const PrecisionPlan& plan) { return plan.residual == Format::f64; };
  CHECK(minimize(low, 50, in("f32")).summary.verdict == Verdict::converged);

  ScriptedSystem never;
  never.finite_at = [](double, const PrecisionPlan&) { return false; };
  const MinimizerResult result = minimize(never, 50, in("f64"));
  CHECK(result.summary.termination == Termination::failure);
  CHECK(result.summary.verdict == Verdict::failed);
  CHECK(result.x == Vector{50});
}

TEST_CASE("a point without derivatives is no place to go on from") {
  ScriptedSystem system;
  system.apart = true;
  system.finite_at = [](double x, const PrecisionPlan&) { return std::fabs(x) > 20 || std::fabs(x) < 10; };
  system.cost_at = [](double x) { return 1 + 0.5 * x * x; };
  SolverOptions options = in("f64");
  options.initial_lambda = 1;  // from 30 to 15
  const MinimizerResult result = minimize(system, 30, options);
  CHECK(result.summary.iterations.front().outcome == StepOutcome::invalid);
}

TEST_CASE("the residuals of a system with derivatives apart are asked before its derivatives") {
  ScriptedSystem system;
  system.apart = true;
  minimize(system, 50, in("f64"));
  CHECK(system.count("cost f64") > 0);
  ScriptedSystem whole;
  minimize(whole, 50, in("f64"));
  CHECK(whole.count("cost f64") == 0);  // one pass serves both
}

TEST_CASE(
    "a J below f64 under f64 residuals goes up where steps are rejected, where it stalls, and near the end") {
  ScriptedSystem system;
  system.apart = true;
  system.first = kLowJacobian;
  system.undamped_step_usable = false;
  system.health = [](HealthReport& h) { h.contraction_known = false; };
  bool uphill = true;
  system.cost_at = [&](double x) { return uphill && x != 50 ? 1e9 : 1 + 0.5 * x * x; };
  int steps = 0;
  SolverOptions options = in("f32");
  options.callback = [&](const IterationSummary& it) {
    if (it.outcome == StepOutcome::escalated) uphill = false;
    return ++steps > 100 ? Stop : Continue;
  };
  const MinimizerResult result = minimize(system, 50, options);
  CHECK(escalations(result) >= 1);
  CHECK(result.summary.iterations[2].event == Event::rejected_step);
  CHECK(result.summary.verdict == Verdict::converged);

  ScriptedSystem finishing;
  finishing.apart = true;
  finishing.first = kLowJacobian;
  finishing.undamped_step_usable = false;
  finishing.health = [](HealthReport& h) {
    h.contraction_known = false;
    if (h.nu < 1) h.relative_distance = 0.5;
  };
  const MinimizerResult ended = minimize(finishing, 50, in("f32"));
  int events = 0;
  for (const IterationSummary& it : ended.summary.iterations) events += it.event == Event::finishing;
  CHECK(events == 1);
  CHECK(ended.summary.iterations.back().plan.gram == Gram::f64);
}

TEST_CASE("a matrix that cannot be factored is damped until it can be") {
  ScriptedSystem system;
  system.apart = true;
  system.factored_at = [](double lambda) { return lambda >= 1e-2; };
  const MinimizerResult result = minimize(system, 50, in("f64"));
  CHECK(result.summary.accepted > 0);
  CHECK(result.summary.iterations.front().lambda >= 1e-2);

  ScriptedSystem never;
  never.apart = true;
  never.factored_at = [](double) { return false; };
  never.certificate_at = [](double) {
    Certified out;
    out.step = {0};
    return out;
  };
  const MinimizerResult lost = minimize(never, 50, in("f64"));
  CHECK(lost.summary.termination == Termination::no_progress);
  CHECK(lost.summary.verdict == Verdict::budget);
}

TEST_CASE("the budget: iterations, the callback's Stop, and a tolerance of the user's") {
  ScriptedSystem slow;
  slow.undamped_step_usable = false;
  SolverOptions options = in("f64");
  options.max_iterations = 0;
  CHECK(minimize(slow, 50, options).summary.termination == Termination::max_iterations);

  ScriptedSystem stopped;
  options = in("f64");
  options.callback = [](const IterationSummary&) { return Stop; };
  CHECK(minimize(stopped, 50, options).summary.termination == Termination::user_stop);

  ScriptedSystem met;
  met.undamped_step_usable = false;
  met.cost_at = [](double x) { return 1e9 + 0.5 * x * x; };
  options = in("f64");
  options.ftol = 1e-3;
  options.initial_lambda = 10;
  const MinimizerResult result = minimize(met, 50, options);
  CHECK(result.summary.termination == Termination::tolerance);
  CHECK(result.summary.verdict == Verdict::tolerance);
  CHECK(!result.stopped_by.empty());
}

TEST_CASE("a function that does not repeat is certified nothing, however flat the gradient") {
  ScriptedSystem system;
  system.agrees = false;
  const MinimizerResult result = minimize(system, 50, in("f64"));
  CHECK(result.summary.verdict == Verdict::failed);
  CHECK_FALSE(result.summary.certificate.passed);
}

TEST_CASE("a step solved for iteratively is solved for once more, tightly, before it ends anything") {
  ScriptedSystem system;
  system.apart = system.iterative = true;
  system.undamped_step_usable = false;
  SolverOptions options = in("f64");
  options.initial_lambda = 1e-6;
  const MinimizerResult result = minimize(system, 50, options);
  CHECK(system.count("solve tightly") > 0);
  CHECK(result.summary.accepted > 0);
}

TEST_CASE("one loop serves solve after solve, each as if it were the first") {
  Minimizer minimizer;
  const SolverOptions options = in("f64");
  std::vector<MinimizerResult> results;
  for (int k = 0; k < 3; ++k) {
    ScriptedSystem system;
    const Vector start{k == 1 ? -7.0 : 50.0};
    MinimizerResult& out = results.emplace_back();
    minimizer.run(system, {.options = options, .x0 = start, .begin = std::chrono::steady_clock::now()}, out);
  }
  CHECK(results[0].x == results[2].x);
  CHECK(results[0].summary.iterations.size() == results[2].summary.iterations.size());
  CHECK(results[0].summary.iterations.front().iteration == results[2].summary.iterations.front().iteration);
}

TEST_CASE("steps that rounding alone decides go on for some iterations, and then the certificate is asked") {
  ScriptedSystem system;  // at every x the same gradient and the same cost
  system.cost_at = [](double) { return 1.0; };
  system.slope_at = [](double x) { return x > 3 ? 1e-7 : -1e-7; };
  system.term_size = 1;
  system.certificate_at = [](double) {
    Certified out;
    out.first_order = out.certificate.passed = true;
    out.certificate.verdict = Verdict::converged;
    return out;
  };
  const MinimizerResult result = minimize(system, 3, in("f64"));
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.summary.iterations.size() < 20);

  ScriptedSystem never = system;
  never.calls.clear();
  never.certificate_at = [](double) { return Certified(); };
  SolverOptions options = in("f64");
  options.max_iterations = 300;
  CHECK(minimize(never, 3, options).summary.termination == Termination::max_iterations);
  CHECK(never.count("certify") >= 2);
  CHECK(never.count("certify") <= 6);
}

TEST_CASE("while the cost falls, or the distance halves, nothing stagnates") {
  ScriptedSystem system;
  int asked = 0;
  system.slope_at = [](double x) { return 0.05 + 1e-9 * x; };
  system.cost_at = [](double x) { return 1 + 0.05 * x; };
  system.certificate_at = [&](double) { return ++asked, Certified(); };
  SolverOptions options = in("f64");
  options.max_iterations = 100;
  minimize(system, 50, options);
  CHECK(asked == 1);  // it asked at the end
}

TEST_CASE("a step that is hardly damped has to lower the gradient by some percent") {
  ScriptedSystem system;
  system.cost_at = [](double) { return 1.0; };
  system.slope_at = [](double x) { return x > 3 ? 1e-7 : -1e-7; };
  system.term_size = 1;
  system.gradient_falls = false;
  SolverOptions options = in("f64");
  options.max_iterations = 9;
  minimize(system, 3, options);
  REQUIRE(system.slacks.size() >= 2);
  CHECK(system.slacks.front() / 1e-7 == doctest::Approx(-0.05));  // of the undamped step
  CHECK(system.dampings.front() == 0);
  CHECK(system.slacks.back() == 0);
  CHECK(system.dampings.back() > 0.01);
}

TEST_CASE("undamped steps that fail time after time are tried ever more rarely") {
  ScriptedSystem system;  // the true curvature is five times that of the model
  system.cost_at = [](double x) { return 1 + 2.5 * x * x; };
  system.slope_at = [](double x) { return 5 * x; };
  const MinimizerResult result = minimize(system, 0.1, in("f64"));
  CHECK(std::fabs(result.x[0]) < 1e-3);
  const auto undamped = std::ranges::count(system.dampings, 0.0);
  CHECK(undamped >= 2);
  CHECK(undamped <= result.summary.accepted / 2);
}

TEST_CASE("a rise of the cost is never accepted, even where the model predicts a larger one") {
  ScriptedSystem system;  // undamped steps lead four times as far to the other side
  system.cost_at = [](double x) { return 1 + 2.5 * x * x; };
  system.slope_at = [](double x) { return 5 * x; };
  system.predicted_share = -1e6;
  const MinimizerResult result = minimize(system, 0.1, in("f64"));
  double cost = system.cost_at(0.1);
  for (const IterationSummary& it : result.summary.iterations) {
    CHECK(it.cost <= cost);
    cost = it.cost;
  }
  CHECK(std::fabs(result.x[0]) < 0.1);
}
TEST_CASE("the certificate's own step does not raise the cost, however large its rounding may be") {
  ScriptedSystem system;
  system.apart = true, system.term_size = 1e22;
  system.certificate_at = [](double) { return Certified{.step = {100}}; };
  for (const auto& it : minimize(system, 1e-3, in("f64")).summary.iterations) CHECK(it.cost < 1.01);
}
