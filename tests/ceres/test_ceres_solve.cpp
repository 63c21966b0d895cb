// Tests what Ceres's users rely on in nlsq::Solve on a ceres::Problem.
#include "ceres_problems.hpp"

#include <nlsq/error.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

using ceres_problems::cost, ceres_problems::tight;

namespace {

struct TenMinus {
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 10.0 - x[0];
    return true;
  }
};

class TenMinusByHand final : public ceres::SizedCostFunction<1, 1> {
 public:
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    r[0] = 10 - x[0][0];
    if (J != nullptr && J[0] != nullptr) J[0][0] = -1;
    return true;
  }
};

struct Line {
  double t, y;
  template <class T>
  bool operator()(const T* slope, const T* offset, T* r) const {
    r[0] = slope[0] * t + offset[0] - y;
    return true;
  }
};

struct Saturation {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = p[0] * (1.0 - exp(-p[1] * t)) - y;
    return true;
  }
};

// Points on a line, with one of them far away.
template <bool kOurs>
void add_line(ceres::Problem& problem, double* slope, double* offset, ceres::LossFunction* loss) {
  for (int i = 0; i < 20; ++i) {
    const double t = 0.5 * i, y = 2 * t - 1 + 0.01 * ((7 * i) % 5 - 2) + (i == 13 ? 30 : 0);
    problem.AddResidualBlock(cost<kOurs, Line, 1, 1, 1>({t, y}), loss, slope, offset);
  }
}

ceres::Solver::Summary run(const ceres::Solver::Options& options, ceres::Problem& problem) {
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  return summary;
}

}  // namespace

TEST_CASE("Hello world: automatic, numeric and analytic derivatives, ours and Ceres's") {
  ceres::CostFunction* ways[] = {
      cost<true, TenMinus, 1, 1>({}), cost<false, TenMinus, 1, 1>({}),
      new ceres::NumericDiffCostFunction<TenMinus, ceres::CENTRAL, 1, 1>(new TenMinus), new TenMinusByHand};
  for (ceres::CostFunction* way : ways) {
    double x = 0.5;
    ceres::Problem problem;
    problem.AddResidualBlock(way, nullptr, &x);
    const ceres::Solver::Summary summary = run({}, problem);
    CHECK(std::fabs(x - 10) < 1e-8);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
    CHECK(summary.IsSolutionUsable());
    CHECK(summary.initial_cost == doctest::Approx(0.5 * 9.5 * 9.5));
    CHECK(summary.final_cost < 1e-15);
    CHECK(summary.num_parameter_blocks == 1);
    CHECK(summary.num_residuals == 1);
    CHECK(summary.iterations.size() >= 2);
    CHECK(summary.iterations.front().cost == doctest::Approx(summary.initial_cost));
    CHECK(summary.BriefReport().find("CONVERGENCE") != std::string::npos);
    CHECK(summary.FullReport().find("Linear solver") != std::string::npos);
  }
}

TEST_CASE("nlsq's own summary says what was recorded, and Ceres's cost functions serve by their Evaluate") {
  for (const bool ours : {true, false}) {
    double slope = 0, offset = 0;
    ceres::Problem problem;
    if (ours) add_line<true>(problem, &slope, &offset, nullptr);
    else add_line<false>(problem, &slope, &offset, nullptr);
    nlsq::Summary summary;
    nlsq::Solve(tight(), &problem, &summary);
    CHECK(summary.evaluator == (ours ? "graph" : "derivatives"));
    CHECK(summary.verdict == nlsq::Verdict::converged);
    CHECK(summary.certificate.passed);
  }
}

TEST_CASE("Losses are called, whatever they are: final costs are Ceres's") {
  class Own final : public ceres::LossFunction {
    void Evaluate(double s, double rho[3]) const override {
      rho[0] = 2 * (std::sqrt(1 + s) - 1);
      rho[1] = 1 / std::sqrt(1 + s);
      rho[2] = -0.5 / ((1 + s) * std::sqrt(1 + s));
    }
  };
  const auto make = [](int which) -> ceres::LossFunction* {
    switch (which) {
      case 0: return new ceres::HuberLoss(0.5);
      case 1: return new ceres::CauchyLoss(0.5);
      case 2: return new ceres::SoftLOneLoss(0.2);
      case 3: return new ceres::ArctanLoss(2);
      case 4: return new ceres::TolerantLoss(1, 0.1);
      case 5: return new ceres::TukeyLoss(5);
      case 6:
        return new ceres::ComposedLoss(new ceres::HuberLoss(1), ceres::TAKE_OWNERSHIP,
                                       new ceres::CauchyLoss(1), ceres::TAKE_OWNERSHIP);
      case 7: return new ceres::ScaledLoss(new ceres::HuberLoss(0.5), 3, ceres::TAKE_OWNERSHIP);
      case 8: return new ceres::ScaledLoss(nullptr, 3, ceres::TAKE_OWNERSHIP);
      default: return new Own;
    }
  };
  for (int which = 0; which < 10; ++which) {
    CAPTURE(which);
    double costs[2];
    for (const bool ours : {false, true}) {
      double slope = 1.5, offset = 0;
      ceres::Problem problem;
      add_line<true>(problem, &slope, &offset, make(which));
      ceres::Solver::Summary summary;
      if (ours) nlsq::Solve(tight(), &problem, &summary);
      else ceres::Solve(tight(), &problem, &summary);
      CHECK(summary.IsSolutionUsable());
      costs[ours] = summary.final_cost;
    }
    CHECK(costs[1] <= costs[0] * (1 + 1e-6));
  }
}

TEST_CASE("Constant blocks stay, and cost what they cost") {
  double x = 3, y = 5, z = 0;
  ceres::Problem problem;
  problem.AddResidualBlock(cost<true, TenMinus, 1, 1>({}), nullptr, &x);  // constant, with cost 24.5
  problem.AddResidualBlock(cost<true, Line, 1, 1, 1>({2.0, 1.0}), nullptr, &y, &z);  // y is constant
  problem.SetParameterBlockConstant(&x);
  problem.SetParameterBlockConstant(&y);
  const ceres::Solver::Summary summary = run(tight(), problem);
  CHECK(x == 3);
  CHECK(y == 5);
  CHECK(std::fabs(z + 9) < 1e-9);
  CHECK(summary.fixed_cost == doctest::Approx(24.5));
  CHECK(summary.final_cost == doctest::Approx(24.5));
  CHECK(summary.initial_cost == doctest::Approx(24.5 + 0.5 * 81));
  CHECK(summary.num_residual_blocks == 2);
  CHECK(summary.num_residual_blocks_reduced == 1);
  CHECK(summary.num_parameter_blocks_reduced == 1);

  problem.SetParameterBlockConstant(&z);
  const ceres::Solver::Summary nothing = run(tight(), problem);
  CHECK(nothing.termination_type == ceres::CONVERGENCE);
  CHECK(nothing.final_cost == doctest::Approx(24.5));
}

TEST_CASE("An empty problem, a value that is not finite, a function that fails at the start") {
  ceres::Problem empty;
  CHECK(run({}, empty).termination_type == ceres::CONVERGENCE);

  double x = std::numeric_limits<double>::quiet_NaN();
  ceres::Problem bad;
  bad.AddResidualBlock(cost<true, TenMinus, 1, 1>({}), nullptr, &x);
  const ceres::Solver::Summary nan = run({}, bad);
  CHECK(nan.termination_type == ceres::FAILURE);
  CHECK_FALSE(nan.IsSolutionUsable());
  CHECK(nan.message.find("not finite") != std::string::npos);

  struct Fails {
    bool operator()(const double*, double*) const { return false; }
  };
  double y = 1;
  ceres::Problem fails;
  fails.AddResidualBlock(new ceres::NumericDiffCostFunction<Fails, ceres::CENTRAL, 1, 1>(new Fails), nullptr,
                         &y);
  const ceres::Solver::Summary failed = run({}, fails);
  CHECK(failed.termination_type == ceres::FAILURE);
  CHECK(y == 1);
}

TEST_CASE("A step to where a function fails is not taken") {
  struct Root {  // it has no value from 3 on, and its minimum is at 2.9
    bool operator()(const double* x, double* r) const {
      if (x[0] >= 3) return false;
      r[0] = std::exp(x[0]) - std::exp(2.9);
      return true;
    }
  };
  double x = 0;
  ceres::Problem problem;
  problem.AddResidualBlock(new ceres::NumericDiffCostFunction<Root, ceres::CENTRAL, 1, 1>(new Root), nullptr,
                           &x);
  const ceres::Solver::Summary summary = run(tight(), problem);
  CHECK(summary.IsSolutionUsable());
  CHECK(summary.num_unsuccessful_steps >= 1);
  CHECK(std::fabs(x - 2.9) < 1e-6);
}

TEST_CASE("Options that are not valid fail as in Ceres, and throw where nlsq's summary is asked for") {
  double x = 1;
  ceres::Problem problem;
  problem.AddResidualBlock(cost<true, TenMinus, 1, 1>({}), nullptr, &x);
  ceres::Solver::Options options;
  options.max_num_iterations = -1;
  const ceres::Solver::Summary summary = run(options, problem);
  CHECK(summary.termination_type == ceres::FAILURE);
  CHECK(summary.message.find("max_num_iterations") != std::string::npos);
  nlsq::Summary ours;
  CHECK_THROWS_AS(nlsq::Solve(options, &problem, &ours), nlsq::ValidationError);
  CHECK(x == 1);
}

TEST_CASE("Options without a counterpart are listed") {
  double x = 1;
  ceres::Problem problem;
  problem.AddResidualBlock(cost<true, TenMinus, 1, 1>({}), nullptr, &x);
  CHECK(run({}, problem).message.find("counterpart") == std::string::npos);
  ceres::Solver::Options options;
  options.use_nonmonotonic_steps = true;
  options.jacobi_scaling = false;
  options.trust_region_strategy_type = ceres::DOGLEG;
  const ceres::Solver::Summary summary = run(options, problem);
  CHECK(summary.message.find("use_nonmonotonic_steps") != std::string::npos);
  CHECK(summary.message.find("jacobi_scaling") != std::string::npos);
  CHECK(summary.message.find("trust_region_strategy_type") != std::string::npos);
}

TEST_CASE("Stop tests mean what they mean in Ceres") {
  const auto solve = [](auto change) {
    std::vector<double> p{1, 0.1};
    ceres::Problem problem;
    for (int i = 1; i < 30; ++i)
      problem.AddResidualBlock(
          cost<true, Saturation, 1, 2>({0.3 * i, 3 * (1 - std::exp(-0.21 * i)) + 0.05 * (i % 3)}), nullptr,
          p.data());
    ceres::Solver::Options options;
    options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 0;
    options.max_num_iterations = 100;
    change(options);
    return run(options, problem);
  };
  const ceres::Solver::Summary by_cost = solve([](auto& o) { o.function_tolerance = 1e-3; });
  CHECK(by_cost.termination_type == ceres::CONVERGENCE);
  CHECK(std::fabs(by_cost.iterations.back().cost_change) <=
        1e-3 * by_cost.iterations[by_cost.iterations.size() - 2].cost);
  const ceres::Solver::Summary by_gradient = solve([](auto& o) { o.gradient_tolerance = 0.05; });
  CHECK(by_gradient.termination_type == ceres::CONVERGENCE);
  CHECK(by_gradient.iterations.back().gradient_max_norm <= 0.05);
  CHECK(by_gradient.iterations[by_gradient.iterations.size() - 2].gradient_max_norm > 0.05);
  const ceres::Solver::Summary by_step = solve([](auto& o) { o.parameter_tolerance = 0.02; });
  CHECK(by_step.termination_type == ceres::CONVERGENCE);
  CHECK(by_step.iterations.back().step_norm <= 0.02 * (10 + 0.02));
  CHECK(by_step.iterations.size() < 30);
  const ceres::Solver::Summary none = solve([](auto& o) { o.max_num_iterations = 2; });
  CHECK(none.termination_type == ceres::NO_CONVERGENCE);
  CHECK(none.IsSolutionUsable());
  CHECK(none.num_successful_steps + none.num_unsuccessful_steps == 3);
  const ceres::Solver::Summary zero = solve([](auto& o) { o.max_num_iterations = 0; });
  CHECK(zero.termination_type == ceres::NO_CONVERGENCE);
  CHECK(zero.initial_cost == zero.final_cost);
  const ceres::Solver::Summary no_time = solve([](auto& o) { o.max_solver_time_in_seconds = 0; });
  CHECK(no_time.termination_type == ceres::NO_CONVERGENCE);
  CHECK(no_time.iterations.size() == 1);
  const ceres::Solver::Summary radius =
      solve([](auto& o) { o.initial_trust_region_radius = 1e-3, o.max_num_iterations = 1; });
  CHECK(radius.iterations.front().trust_region_radius == doctest::Approx(1e-3));
}

TEST_CASE("A functor that throws: it passes through, and the blocks are as they were") {
  struct Throws {
    int* calls;
    bool operator()(const double* x, double* r) const {
      if (++*calls > 6) throw std::runtime_error("enough");
      r[0] = std::exp(x[0]) - 5;
      return true;
    }
  };
  int calls = 0;
  double x = 0.25;
  ceres::Problem problem;
  problem.AddResidualBlock(
      new ceres::NumericDiffCostFunction<Throws, ceres::CENTRAL, 1, 1>(new Throws{&calls}), nullptr, &x);
  ceres::Solver::Summary summary;
  CHECK_THROWS_WITH(nlsq::Solve({}, &problem, &summary), "enough");
  CHECK(x == 0.25);
}
