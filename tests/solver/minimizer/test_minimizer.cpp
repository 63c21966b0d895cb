// The loop driven by a scripted problem: what it asks for, at which x and in which precision, and what it
// makes of the answers.
#include "minimizer/dense_system.hpp"
#include "minimizer/minimizer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "tables.hpp"

using namespace nlsq;
using tables::Table;

namespace {

using Model = std::function<void(const Vector& x, Table& rows)>;  // fills columns of J, then r

// A problem that answers f64 questions by `high` and f32 questions by `low`, and remembers what it was asked.
class Scripted final : public Evaluator {
 public:
  struct Call {
    const char* what;
    Vector x;
    PrecisionPlan plan;
    bool operator==(const Call&) const = default;
  };

  template <class M>
  Scripted(std::size_t m, std::size_t n, M model) : high(model), low(model), m_(m), n_(n) {}

  Model high, low;
  std::function<Probe(const Vector&)> probe_at = [](const Vector&) { return Probe{}; };
  Recheck checked{.rows = 1, .largest = 0, .discrepancy = 0, .magnitude = 1};
  std::vector<Call> calls;

  int parameters() const override { return static_cast<int>(n_); }
  std::size_t residuals() const override { return m_; }
  bool has_f32() const override { return true; }
  double row_cost() const override { return 1e6; }  // dear enough for f32, and too dear to polish

  Linearization linearize(std::span<const double> x, const PrecisionPlan& plan) override {
    calls.push_back({"linearize", Vector(x.begin(), x.end()), plan});
    const Table t = table(x, plan.residual);
    bool finite = true;
    for (const auto& column : t.columns) {
      for (const double v : column) finite = finite && std::isfinite(v);
    }
    if (!finite) {
      Linearization at;
      at.finite = false;
      at.cost = NAN;
      at.plan = plan;
      return at;
    }
    Linearization at = linearized(t, plan.gram == Gram::qr);
    at.plan = plan;
    return at;
  }
  CostValue cost(std::span<const double> x, Format format) override {
    calls.push_back({"cost", Vector(x.begin(), x.end()), {format, Gram::f64}});
    return {static_cast<double>(table(x, format).product(n_, n_) / 2)};
  }
  Probe probe(std::span<const double> x, const PrecisionPlan&, std::optional<Format>) override {
    Probe p = probe_at(Vector(x.begin(), x.end()));
    if (p.gradient_bias.empty()) p.gradient_bias.assign(n_, 0.0);
    if (p.gradient_scatter.empty()) p.gradient_scatter = Matrix(n_, n_);
    return p;
  }
  Recheck recheck(std::span<const double>, std::size_t) override { return checked; }
  Vector second_order(std::span<const double>, std::span<const double>, double) override {
    return Vector(n_, 0.0);
  }
  const KernelCounters& counters() const override { return counters_; }
  double counted_work() const override { return 0; }
  double pass_work(const PrecisionPlan&) const override { return 0; }
  std::size_t bytes() const override { return 0; }

  int count(Format format) const {
    int found = 0;
    for (const Call& call : calls) found += call.plan.residual == format;
    return found;
  }
  double cost_at(const Vector& x) const {
    return static_cast<double>(table(x, Format::f64).product(n_, n_) / 2);
  }

 private:
  Table table(std::span<const double> x, Format format) const {
    Table t{m_, n_, std::vector(n_ + 1, std::vector<double>(m_, 0.0))};
    (format == Format::f64 ? high : low)(Vector(x.begin(), x.end()), t);
    return t;
  }
  std::size_t m_, n_;
  KernelCounters counters_;
};

// What a probe found: noise of the cost, and a bias of the gradient.
Probe noisy(double cost_noise, Vector gradient_bias) {
  Probe probe;
  probe.cost_noise = cost_noise;
  probe.gradient_bias = std::move(gradient_bias);
  return probe;
}

MinimizerResult minimize(Scripted& problem, Vector x0, const SolverOptions& options) {
  DenseSystem system;
  system.begin(problem, {options});
  MinimizerResult out;
  Minimizer().run(system, {.options = options, .x0 = x0, .begin = std::chrono::steady_clock::now()}, out);
  return out;
}
SolverOptions in(const char* policy) {
  SolverOptions options;
  options.precision = PrecisionPolicy::parse(policy);
  return options;
}

// r_i = x - t_i: the mean.
Model mean_of(Vector t, double shift = 0) {
  return [t, shift](const Vector& x, Table& rows) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      rows.columns[0][i] = 1;
      rows.columns[1][i] = x[0] - t[i] - shift;
    }
  };
}
// Rosenbrock's valley with a constant residual beside it.
Model rosenbrock(double constant) {
  return [constant](const Vector& x, Table& rows) {
    rows.columns[0] = {-20 * x[0], -1, 0};
    rows.columns[1] = {10, 0, 0};
    rows.columns[2] = {10 * (x[1] - x[0] * x[0]), 1 - x[0], constant};
  };
}
// log(x) against two values: not defined for x <= 0, where a long first step leads.
void logarithm(const Vector& x, Table& rows) {
  rows.columns[0] = {1 / x[0], 1 / x[0]};
  rows.columns[1] = {std::log(x[0]) + 3, std::log(x[0]) + 3.5};
}

void check_best_verified(const Scripted& problem, const MinimizerResult& result, const Vector& x0) {
  CHECK(result.summary.final_cost == problem.cost_at(result.x));
  CHECK(result.summary.final_cost <= problem.cost_at(x0));
}

}  // namespace

TEST_CASE("a linear problem is solved by one Gauss-Newton step and certified") {
  Scripted problem(3, 1, mean_of({1, 2, 6}));
  SolverOptions options = in("f64");
  options.algorithm = Algorithm::gauss_newton;
  const MinimizerResult result = minimize(problem, {100}, options);
  CHECK(result.x[0] == doctest::Approx(3).epsilon(1e-14));
  CHECK(result.summary.accepted == 1);
  CHECK(result.summary.termination == Termination::converged);
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.summary.certificate.passed);
}

TEST_CASE(
    "a curved valley takes rejections; costs fall at every accepted step and the damping at good ones") {
  Scripted problem(3, 2, rosenbrock(1));
  const MinimizerResult result = minimize(problem, {-1.2, 1}, in("f64"));
  CHECK(result.x[0] == doctest::Approx(1).epsilon(1e-9));
  CHECK(result.x[1] == doctest::Approx(1).epsilon(1e-9));
  CHECK(result.summary.rejected > 0);
  const auto& trace = result.summary.iterations;
  for (std::size_t k = 1; k < trace.size(); ++k) {
    CHECK(trace[k].iteration == static_cast<int>(k));
    if (trace[k - 1].outcome == StepOutcome::rejected) {
      CHECK(trace[k].cost == trace[k - 1].cost);
      CHECK(trace[k].lambda > trace[k - 1].lambda);
    } else {
      CHECK(trace[k].cost < trace[k - 1].cost * (1 + 1e-14));
      if (trace[k - 1].rho > 0.5) CHECK(trace[k].lambda <= trace[k - 1].lambda);
    }
  }
}

TEST_CASE("a step out of the domain is invalid, not rejected, and shorter steps come back") {
  Scripted problem(2, 1, logarithm);
  const MinimizerResult result = minimize(problem, {5}, in("f64"));
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.x[0] == doctest::Approx(std::exp(-3.25)));
  const auto& trace = result.summary.iterations;
  CHECK(trace.front().outcome == StepOutcome::invalid);
  CHECK(std::isnan(trace.front().rho));
  for (std::size_t k = 1; k < trace.size(); ++k) {
    if (trace[k - 1].outcome != StepOutcome::invalid) continue;
    CHECK(trace[k].lambda >= 10 * trace[k - 1].lambda);
    CHECK(trace[k].cost == trace[k - 1].cost);
  }
  check_best_verified(problem, result, {5});
}

TEST_CASE("a gradient that is noise promotes: the same x again in f64, no step, the same damping") {
  Scripted problem(3, 1, mean_of({1, 2, 6}));
  problem.probe_at = [](const Vector&) { return noisy(0, {1000}); };
  const MinimizerResult result = minimize(problem, {100}, in("f32"));
  const auto& trace = result.summary.iterations;
  REQUIRE(trace.size() >= 2);
  CHECK(trace[0].outcome == StepOutcome::promoted);
  CHECK(trace[0].event == Event::gradient_noise);
  CHECK(trace[0].reason.find("noise") != std::string::npos);
  CHECK(trace[0].plan.residual == Format::f32);
  CHECK(trace[1].plan == PrecisionPlan{Format::f64, Gram::f64});
  CHECK(trace[1].cost == trace[0].cost);
  CHECK(trace[1].lambda == trace[0].lambda);
  CHECK(result.summary.precision.escalations == 1);
  CHECK(result.summary.accepted + result.summary.rejected == static_cast<int>(trace.size()) - 1);
  CHECK(problem.calls[0].x == problem.calls[1].x);
  CHECK(problem.calls[0].plan.residual == Format::f32);
  CHECK(problem.calls[1].plan.residual == Format::f64);
  CHECK(problem.count(Format::f32) == 1);
  CHECK(result.x[0] == doctest::Approx(3).epsilon(1e-14));
}

TEST_CASE("a gain ratio inside the noise is undecided: both costs again in f64, and twice running promotes") {
  // Near its minimum x² - 2 is close to linear: the decrease is the predicted one.
  Scripted problem(2, 1, [](const Vector& x, Table& rows) {
    rows.columns[0] = {2 * x[0], 0};
    rows.columns[1] = {x[0] * x[0] - 2, 1e-4};  // next to nothing: never inside a standard error
  });
  problem.probe_at = [](const Vector& x) {
    const double r = x[0] * x[0] - 2;  // undamped, predicted = r²/2
    return noisy(0.95 * r * r / 2, {0});
  };
  SolverOptions options = in("f32");
  options.initial_lambda = 1e-9;
  const MinimizerResult result = minimize(problem, {2}, options);
  const auto& trace = result.summary.iterations;
  REQUIRE(trace.size() >= 3);
  CHECK(trace[0].outcome == StepOutcome::accepted);
  CHECK(trace[1].outcome == StepOutcome::accepted);
  CHECK(trace[2].outcome == StepOutcome::promoted);
  CHECK(trace[2].event == Event::cost_noise);
  // f32 at 2 and at the trial point, then both costs in f64.
  REQUIRE(problem.calls.size() > 4);
  const Vector trial = problem.calls[1].x;
  CHECK(problem.calls[1].plan.residual == Format::f32);
  CHECK(problem.calls[2] == Scripted::Call{"cost", {2}, {Format::f64, Gram::f64}});
  CHECK(problem.calls[3] == Scripted::Call{"cost", trial, {Format::f64, Gram::f64}});
  CHECK(static_cast<double>(static_cast<float>(trial[0])) == trial[0]);  // on the f32 grid
  CHECK(result.x[0] == doctest::Approx(std::sqrt(2.0)).epsilon(1e-12));
}

TEST_CASE("a decrease beyond the noise is accepted in f32 without an f64 pass, an increase rejected") {
  Scripted problem(3, 2, rosenbrock(1));
  problem.probe_at = [](const Vector& x) {
    Probe p = noisy(1e-6, {0, 0});
    if (std::fabs(x[0] - 1) < 1e-2) p.gradient_bias = {1e3, 1e3};
    return p;
  };
  const MinimizerResult result = minimize(problem, {-1.2, 1}, in("f32,threshold.checkpoint_steps=1000"));
  bool rejected = false, was_low = true;
  for (const IterationSummary& it : result.summary.iterations) {
    const bool low = it.plan.residual == Format::f32;
    CHECK((was_low || !low));  // never back to f32
    was_low = low;
    rejected = rejected || (low && it.outcome == StepOutcome::rejected);
  }
  CHECK(rejected);
  bool in_f64 = false;
  for (const auto& call : problem.calls) {
    if (call.plan.residual == Format::f64) in_f64 = true;
    else CHECK_FALSE(in_f64);
  }
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.x[0] == doctest::Approx(1).epsilon(1e-9));
}

TEST_CASE("an f32 path that led away is taken back to the checkpoint when f64 shows it") {
  // Two basins: the start is in the good one, f32 sees a slope that leads over into the bad one.
  Scripted problem(2, 1, [](const Vector& x, Table& rows) {
    rows.columns[0] = {1, 0};
    rows.columns[1] = x[0] < 2 ? Vector{x[0] + 1, 0.5} : Vector{x[0] - 4, 3};
  });
  problem.low = [](const Vector& x, Table& rows) {
    rows.columns[0] = {0.25, 0};
    rows.columns[1] = {0.25 * (x[0] - 4), 0.5};
  };
  problem.probe_at = [](const Vector& x) { return noisy(0, {x[0] > 3 ? 1000.0 : 0.0}); };
  const MinimizerResult result = minimize(problem, {0}, in("f32"));
  int rollbacks = 0;
  for (const IterationSummary& it : result.summary.iterations) rollbacks += it.event == Event::rollback;
  CHECK(rollbacks == 1);
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.x[0] == doctest::Approx(-1).epsilon(1e-12));
  check_best_verified(problem, result, {0});
  // With no iterations left to mend it, the start is returned.
  SolverOptions options = in("f32");
  options.max_iterations = 3;
  Scripted again = problem;
  const MinimizerResult stopped = minimize(again, {0}, options);
  check_best_verified(again, stopped, {0});
}

TEST_CASE("an f32 path that led astray in the right basin goes on from where it is") {
  // f32 sees its minimum at 4, the truth is -1.
  Scripted problem(3, 1, mean_of({-2, -1, 0}));
  problem.low = mean_of({-2, -1, 0}, 5);
  problem.probe_at = [](const Vector& x) { return noisy(0, {x[0] > 3 ? 1000.0 : 0.0}); };
  const MinimizerResult result = minimize(problem, {0}, in("f32"));
  CHECK(result.x[0] == doctest::Approx(-1).epsilon(1e-12));
  check_best_verified(problem, result, {0});
}

TEST_CASE("a point that is better in f64 too is kept at promotion") {
  Scripted problem(3, 1, mean_of({-2, -1, 0}));
  problem.low = mean_of({-2, -1, 0}, 0.25);
  problem.probe_at = [](const Vector& x) { return noisy(0, {x[0] < 5 ? 1000.0 : 0.0}); };
  const MinimizerResult result = minimize(problem, {50}, in("f32"));
  for (const auto& call : problem.calls) CHECK((call.plan.residual == Format::f32 || call.x[0] < 5));
  CHECK(result.x[0] == doctest::Approx(-1).epsilon(1e-12));
}

TEST_CASE(
    "rows not finite in f32 at the start are taken in f64; in f64 it is a failure that leaves x alone") {
  Scripted problem(2, 1, logarithm);
  problem.low = [](const Vector&, Table& rows) { rows.columns[1][0] = INFINITY; };
  const MinimizerResult fine = minimize(problem, {5}, in("f32"));
  CHECK(fine.summary.verdict == Verdict::converged);
  CHECK(problem.count(Format::f32) == 1);

  Scripted outside(2, 1, logarithm);
  const MinimizerResult failed = minimize(outside, {-1}, in("f64"));
  CHECK(failed.summary.termination == Termination::failure);
  CHECK(failed.summary.verdict == Verdict::failed);
  CHECK_FALSE(failed.summary.certificate.passed);
  CHECK(failed.x == Vector{-1});
  CHECK(failed.summary.iterations.empty());
  CHECK(outside.calls.size() == 1);
}

TEST_CASE("the iteration limit ends with the best point, verified, and no certificate") {
  for (const int limit : {0, 1, 3}) {
    CAPTURE(limit);
    Scripted problem(3, 2, rosenbrock(1));
    SolverOptions options = in("f64");
    options.max_iterations = limit;
    const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
    CHECK(result.summary.termination == Termination::max_iterations);
    CHECK(result.summary.verdict == Verdict::budget);
    CHECK_FALSE(result.summary.certificate.passed);
    CHECK(result.summary.iterations.size() == static_cast<std::size_t>(limit));
    check_best_verified(problem, result, {-1.2, 1});
  }
  // Where x0 is the minimum already, no iteration is needed to certify it.
  Scripted solved(3, 1, mean_of({1, 2, 6}));
  SolverOptions options = in("f64");
  options.max_iterations = 0;
  CHECK(minimize(solved, {3}, options).summary.verdict == Verdict::converged);
}

TEST_CASE("a limit reached in f32 still verifies the point in f64") {
  Scripted problem(3, 2, rosenbrock(1));
  SolverOptions options = in("f32");
  options.max_iterations = 2;
  const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
  CHECK(result.summary.verdict == Verdict::budget);
  CHECK(problem.calls.back().plan.residual == Format::f64);
  CHECK(problem.calls.back().x == result.x);
  check_best_verified(problem, result, {-1.2, 1});
}

TEST_CASE("the time limit ends the iteration between steps") {
  Scripted problem(3, 2, rosenbrock(1));
  SolverOptions options = in("f64");
  options.max_seconds = 1e-9;
  const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
  CHECK(result.summary.termination == Termination::time_limit);
  CHECK(result.summary.verdict == Verdict::budget);
  CHECK(result.x == Vector{-1.2, 1});
}

TEST_CASE("the callback sees every iteration and can stop") {
  Scripted problem(3, 2, rosenbrock(1));
  SolverOptions options = in("f64");
  std::vector<int> seen;
  options.callback = [&](const IterationSummary& it) {
    seen.push_back(it.iteration);
    return it.iteration == 3 ? Stop : Continue;
  };
  const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
  CHECK(seen == std::vector<int>{0, 1, 2, 3});
  CHECK(result.summary.iterations.size() == 4);
  CHECK(result.summary.termination == Termination::user_stop);
  CHECK(result.summary.verdict == Verdict::budget);
  check_best_verified(problem, result, {-1.2, 1});
}

TEST_CASE("where no step decreases the cost the loop ends, and says so") {
  Scripted problem(3, 1, [](const Vector& x, Table& rows) {
    for (std::size_t i = 0; i < 3; ++i) {
      rows.columns[0][i] = -1;  // the derivative has the wrong sign
      rows.columns[1][i] = x[0] - static_cast<double>(i) - 5;
    }
  });
  const MinimizerResult result = minimize(problem, {0}, in("f64"));
  CHECK(result.summary.termination == Termination::no_progress);
  CHECK(result.summary.verdict == Verdict::budget);
  CHECK(result.x == Vector{0});
  CHECK(result.summary.iterations.size() < 100);
}

TEST_CASE("no progress in f32 is no verdict: f64 takes over") {
  Scripted problem(3, 1, mean_of({1, 2, 6}));
  problem.low = [](const Vector& x, Table& rows) {
    mean_of({1, 2, 6})(x, rows);
    for (double& d : rows.columns[0]) d = -d;
  };
  const MinimizerResult result = minimize(problem, {100}, in("f32"));
  CHECK(result.x[0] == doctest::Approx(3).epsilon(1e-14));
  CHECK(result.summary.verdict == Verdict::converged);
}

TEST_CASE("ftol ends as TOLERANCE: verified, first order not certified") {
  Scripted problem(3, 2, rosenbrock(100));
  SolverOptions options = in("f64");
  options.ftol = 0.01;  // the valley's cost is a hundredth of the constant's
  const MinimizerResult result = minimize(problem, {-1.2, 1}, options);
  CHECK(result.summary.termination == Termination::tolerance);
  CHECK(result.summary.verdict == Verdict::tolerance);
  CHECK_FALSE(is_success(result.summary.verdict));
  CHECK(result.summary.accepted == 1);
  check_best_verified(problem, result, {-1.2, 1});
}

TEST_CASE("a callable that disagrees with its program is not certified, however flat the gradient") {
  Scripted problem(3, 1, mean_of({1, 2, 6}));
  problem.checked = {.rows = 3, .largest = 1e-3, .discrepancy = 1, .magnitude = 10};
  const MinimizerResult result = minimize(problem, {100}, in("f64"));
  CHECK_FALSE(result.summary.certificate.recheck_passed);
  CHECK_FALSE(result.summary.certificate.passed);
  CHECK(result.summary.verdict == Verdict::failed);
  CHECK(result.summary.certificate.recheck_discrepancy == 1e-3);
}

TEST_CASE("what the problem throws passes through") {
  Scripted problem(3, 1, [](const Vector& x, Table& rows) {
    if (x[0] < 50) throw std::runtime_error("by the user");
    mean_of({1, 2, 6})(x, rows);
  });
  CHECK_THROWS_WITH_AS(minimize(problem, {100}, in("f64")), "by the user", std::runtime_error);
}

TEST_CASE("with one degree of freedom a far point is not taken for one inside a standard error") {
  // m - n = 1: ν₀/σ <= 1 everywhere, as σ is made of the distance itself. Undamped steps from far leave
  // the domain; if each of them raised the damping, the fit would end in ever smaller steps.
  Scripted problem(2, 1, logarithm);
  const MinimizerResult result = minimize(problem, {5}, in("f64"));
  CHECK(result.summary.verdict == Verdict::converged);
  CHECK(result.summary.iterations.size() < 20);
}

TEST_CASE("an undamped step that fails leaves the damping as it was") {
  // Near the optimum in units of σ, but the model bends: the undamped step leads uphill.
  Scripted problem(40, 1, [](const Vector& x, Table& rows) {
    for (std::size_t i = 0; i < 40; ++i) {
      rows.columns[0][i] = i == 0 ? 1 / (1 + x[0] * x[0]) : 0;
      rows.columns[1][i] = i == 0 ? std::atan(x[0]) : 1 + 0.01 * static_cast<double>(i);
    }
  });
  const MinimizerResult result = minimize(problem, {2}, in("f64"));
  const auto& trace = result.summary.iterations;
  REQUIRE(trace.size() > 1);
  CHECK(trace[0].lambda == 0);
  CHECK(trace[0].outcome == StepOutcome::rejected);
  CHECK(trace[1].lambda == 1e-3);
  CHECK(is_success(result.summary.verdict));
  CHECK(std::fabs(result.x[0]) < 1e-6);
}

TEST_CASE("a zero residual is certified by its gradient, and a dead parameter does not stop the others") {
  Scripted exact(2, 2, [](const Vector& x, Table& rows) {
    rows.columns[0] = {1, 1};
    rows.columns[1] = {1, -1};
    rows.columns[2] = {x[0] + x[1] - 3, x[0] - x[1] - 1};
  });
  const MinimizerResult zero = minimize(exact, {10, 10}, in("f64"));
  CHECK(is_success(zero.summary.verdict));
  CHECK(zero.x[0] == doctest::Approx(2).epsilon(1e-13));

  Scripted dead(3, 2, [](const Vector& x, Table& rows) {
    rows.columns[0] = {1, 1, 1};
    rows.columns[1] = {0, 0, 0};
    rows.columns[2] = {x[0] - 1, x[0] - 2, x[0] - 6};
  });
  const MinimizerResult result = minimize(dead, {100, 7}, in("f64"));
  CHECK(result.summary.verdict == Verdict::rank_deficient);
  CHECK(result.x[0] == doctest::Approx(3).epsilon(1e-12));
  CHECK(result.x[1] == 7);
  CHECK(result.summary.certificate.rank == 1);
  CHECK(result.summary.certificate.confounded == std::vector<int>{1});
}

TEST_CASE("columns of very different sizes make no difference to the path") {
  const auto scaled = [](double unit) {
    return [unit](const Vector& x, Table& rows) {
      rosenbrock(1)({x[0], x[1] * unit}, rows);
      for (double& d : rows.columns[1]) d *= unit;
    };
  };
  Scripted plain(3, 2, scaled(1)), wild(3, 2, scaled(0x1p60));
  const MinimizerResult a = minimize(plain, {-1.2, 1}, in("f64")),
                        b = minimize(wild, {-1.2, 0x1p-60}, in("f64"));
  CHECK(a.summary.iterations.size() == b.summary.iterations.size());
  CHECK(a.x[0] == b.x[0]);
  CHECK(a.x[1] == b.x[1] * 0x1p60);
}
