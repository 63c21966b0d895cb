// Tests how solves end. CONVERGENCE must mean a minimum, or a tolerance that was met. Also tests problems
// with nothing to find, and failures.
#include <nlsq/ceres.hpp>

#include "ceres/minus.hpp"
#include "ceres_comparison.hpp"

#include <mgh.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

using ceres_problems::cost, ceres_problems::Made, ceres_problems::tight;

namespace {

// The residuals are x - 1, x + 1 and x². Their derivatives are multiplied by `sign`; with -1 every step
// climbs.
struct Signed final : ceres::SizedCostFunction<3, 1> {
  double sign;
  explicit Signed(double s) : sign(s) {}
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    const double v = x[0][0];
    r[0] = v - 1, r[1] = v + 1, r[2] = v * v;
    if (J != nullptr && J[0] != nullptr) J[0][0] = sign, J[0][1] = sign, J[0][2] = sign * 2 * v;
    return true;
  }
};

struct Fails final : ceres::SizedCostFunction<1, 1> {
  bool Evaluate(double const* const*, double*, double**) const override { return false; }
};

// The residual is x² - 2. It has no derivatives below 1.6, where its minimum is.
struct NoSlope final : ceres::SizedCostFunction<1, 1> {
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    const double v = x[0][0];
    r[0] = v * v - 2;
    if (J == nullptr || J[0] == nullptr) return true;
    J[0][0] = 2 * v;
    return v >= 1.6;
  }
};

// Its values differ a little from call to call.
struct Wavers final : ceres::SizedCostFunction<2, 1> {
  mutable int calls = 0;
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    const double off = 1e-3 * (++calls % 7);
    r[0] = x[0][0] - 2 + off, r[1] = 2 * x[0][0] + 1 - off;
    if (J != nullptr && J[0] != nullptr) J[0][0] = 1, J[0][1] = 2;
    return true;
  }
};

// Huber's loss with a common mistake: its slope is that of 1/r², and not of 1/r.
struct WrongSlope final : ceres::LossFunction {
  void Evaluate(double s, double rho[3]) const override {
    const bool far = s > 1;
    rho[0] = far ? 2 * std::sqrt(s) - 1 : s;
    rho[1] = far ? 1 / s : 1;
    rho[2] = 0;
  }
};

ceres::Solver::Summary solve(ceres::Problem& problem, const ceres::Solver::Options& options = {}) {
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  return summary;
}

void check_times_and_counts(const ceres::Solver::Summary& summary) {
  CHECK(summary.total_time_in_seconds > 0);
  CHECK(summary.preprocessor_time_in_seconds >= 0);
  CHECK(summary.minimizer_time_in_seconds >= 0);
  CHECK(summary.total_time_in_seconds >=
        summary.preprocessor_time_in_seconds + summary.minimizer_time_in_seconds);
  CHECK(summary.num_successful_steps >= 0);
  CHECK(summary.num_unsuccessful_steps >= 0);
  CHECK(summary.BriefReport().find(ceres::TerminationTypeToString(summary.termination_type)) !=
        std::string::npos);
  CHECK(summary.FullReport().find(summary.message) != std::string::npos);
}

}  // namespace

TEST_CASE("Beale's function from far away: an end in the valley that runs to infinity is no success") {
  using Beale = problems::mgh::Beale;
  for (const double start : {10.0, 100.0}) {
    for (const double tolerance : {0.0, 1e-18, 1e-15}) {
      CAPTURE(start);
      CAPTURE(tolerance);
      Made made({start, start});
      made.problem->AddResidualBlock(cost<true, Beale, 3, 2>({}), nullptr, made.x.data());
      ceres::Solver::Options options = ceres_problems::Comparison().options;
      options.max_num_iterations = 1000;
      ceres_problems::set_tolerances(options, tolerance);
      const ceres::Solver::Summary summary = solve(*made.problem, options);
      INFO(summary.message);
      CHECK(summary.IsSolutionUsable());
      const bool claimed = summary.termination_type == ceres::CONVERGENCE;
      CHECK(claimed == (summary.message.find("the optimum found") != std::string::npos));
      CHECK((claimed || summary.termination_type == ceres::NO_CONVERGENCE));
      if (claimed) ceres_problems::check_claim(made, options, 1, 1e-12);
      check_times_and_counts(summary);
    }
  }
}

TEST_CASE("A tolerance that a rejected step meets far from an optimum is no success") {
  for (const double sign : {1.0, -1.0}) {
    CAPTURE(sign);
    double x = 3;
    ceres::Problem problem;
    problem.AddResidualBlock(new Signed(sign), nullptr, &x);
    const ceres::Solver::Summary summary = solve(problem);
    INFO(summary.message);
    if (sign > 0) {
      CHECK(summary.termination_type == ceres::CONVERGENCE);
      CHECK(std::fabs(x) < 1e-4);
    } else {
      CHECK(summary.termination_type != ceres::CONVERGENCE);
      CHECK(x == 3);
    }
    check_times_and_counts(summary);
  }
}

TEST_CASE("Functions that do not repeat are no success, and the message says so") {
  double x = 5;
  ceres::Problem problem;
  problem.AddResidualBlock(new Wavers, nullptr, &x);
  const ceres::Solver::Summary summary = solve(problem);
  CHECK(summary.termination_type == ceres::NO_CONVERGENCE);
  CHECK(summary.message.find("do not repeat") != std::string::npos);
}

TEST_CASE("A loss whose slope is not that of its values is no success, and the message says so") {
  double x = 5;
  ceres::Problem problem;
  for (const double number : {1.0, 1.5, 9.0}) {
    problem.AddResidualBlock(cost<true, Minus, 1, 1>({number}), nullptr, &x);
    problem.AddResidualBlock(cost<true, Minus, 1, 1>({number + 1}), new WrongSlope, &x);
  }
  const ceres::Solver::Summary summary = solve(problem, tight());
  CHECK(summary.termination_type == ceres::NO_CONVERGENCE);
  CHECK(summary.message.find("a loss gives at s = ") != std::string::npos);
}

TEST_CASE("Problems without free parameters or without residuals converge where they start") {
  double x = 5, y = 1;
  ceres::Problem empty, unused, constant;
  unused.AddParameterBlock(&y, 1);
  constant.AddResidualBlock(cost<true, Minus, 1, 1>({2}), nullptr, &x);
  constant.SetParameterBlockConstant(&x);
  for (ceres::Problem* problem : {&empty, &unused, &constant}) {
    const ceres::Solver::Summary summary = solve(*problem);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
    CHECK(summary.IsSolutionUsable());
    CHECK(summary.final_cost == (problem == &constant ? 4.5 : 0));
    CHECK(summary.initial_cost == summary.final_cost);
    CHECK(summary.fixed_cost == summary.final_cost);
    check_times_and_counts(summary);
  }
  CHECK(x == 5);
  CHECK(y == 1);
}

TEST_CASE("Cost functions that fail: on free blocks, on constant ones alone, and beside sound ones") {
  for (const bool constant : {false, true}) {
    for (const bool beside : {false, true}) {
      CAPTURE(constant);
      CAPTURE(beside);
      double x = 5, y = 1;
      ceres::Problem problem;
      if (beside) problem.AddResidualBlock(cost<true, Minus, 1, 1>({2}), nullptr, &x);
      problem.AddResidualBlock(new Fails, nullptr, &y);
      if (constant) problem.SetParameterBlockConstant(&y);
      const ceres::Solver::Summary summary = solve(problem);
      CHECK(summary.termination_type == ceres::FAILURE);
      CHECK_FALSE(summary.IsSolutionUsable());
      CHECK(summary.message.find(beside ? "residual block 1 returns false"
                                        : "residual block 0 returns false") != std::string::npos);
      CHECK(x == 5);
      CHECK(y == 1);
      check_times_and_counts(summary);
    }
  }
}

TEST_CASE("Callbacks see the blocks move where that is asked for, on every end") {
  struct Watch final : ceres::IterationCallback {
    const double* x = nullptr;
    std::vector<double> seen;
    ceres::CallbackReturnType operator()(const ceres::IterationSummary&) override {
      seen.push_back(*x);
      return ceres::SOLVER_CONTINUE;
    }
  };
  for (const bool update : {false, true}) {
    double x = 3;
    Watch watch;
    watch.x = &x;
    ceres::Problem problem;
    problem.AddResidualBlock(new Signed(1), nullptr, &x);
    ceres::Solver::Options options = tight();
    options.callbacks = {&watch};
    options.update_state_every_iteration = update;
    options.max_num_iterations = 3;
    const ceres::Solver::Summary summary = solve(problem, options);
    CHECK(summary.iterations.size() == watch.seen.size());
    CHECK((watch.seen.back() == 3) == !update);
    if (update) CHECK(watch.seen.back() == x);
    CHECK(x != 3);
    check_times_and_counts(summary);
  }
}

namespace {

struct Nothing final : ceres::CostFunction {
  Nothing() {
    set_num_residuals(0);
    mutable_parameter_block_sizes()->push_back(1);
  }
  bool Evaluate(double const* const*, double*, double**) const override { return true; }
};

// This is a plane whose steps are never longer than ½.
struct ShortSteps final : ceres::Manifold {
  int AmbientSize() const override { return 2; }
  int TangentSize() const override { return 2; }
  bool Plus(const double* x, const double* d, double* out) const override {
    out[0] = x[0] + d[0], out[1] = x[1] + d[1];
    return std::hypot(d[0], d[1]) <= 0.5;
  }
  bool PlusJacobian(const double*, double* J) const override {
    J[0] = J[3] = 1, J[1] = J[2] = 0;
    return true;
  }
  bool Minus(const double* y, const double* x, double* d) const override {
    d[0] = y[0] - x[0], d[1] = y[1] - x[1];
    return true;
  }
  bool MinusJacobian(const double* x, double* J) const override { return PlusJacobian(x, J); }
};

struct Rosenbrock {
  bool* not_a_number;
  template <class T>
  bool operator()(const T* x, T* r) const {
    if (!(x[0] == x[0])) *not_a_number = true;
    r[0] = 10.0 * (x[1] - x[0] * x[0]), r[1] = 1.0 - x[0];
    return true;
  }
};

// This function depends on a block without numbers and one of one number.
struct BesideNothing final : ceres::CostFunction {
  BesideNothing() {
    set_num_residuals(1);
    *mutable_parameter_block_sizes() = {0, 1};
  }
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    r[0] = x[1][0] - 2;
    if (J != nullptr && J[1] != nullptr) J[1][0] = 1;
    return true;
  }
};

struct Towards {
  double x, y, z;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] - x, r[1] = p[1] - y, r[2] = p[2] - z;
    return true;
  }
};

}  // namespace

TEST_CASE("residual blocks without residuals add nothing") {
  double x = 5, alone = 1;
  ceres::Problem problem;
  problem.AddResidualBlock(new Nothing, nullptr, &x);
  problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Minus, 1, 1>(new Minus{2}), nullptr, &x);
  problem.AddResidualBlock(new Nothing, nullptr, &alone);
  ceres::Solver::Summary summary;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  INFO(summary.message);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(summary.num_residual_blocks == 3);
  CHECK(summary.num_residual_blocks_reduced == 3);
  CHECK(summary.num_residuals == 1);
  CHECK(x == doctest::Approx(2));
  CHECK(alone == 1);
}

// There was no residual block to call for the evaluation callback, and the program crashed.
TEST_CASE("a problem of residual blocks without residuals alone") {
  double x = 5;
  ceres::Problem problem;
  problem.AddResidualBlock(new Nothing, nullptr, &x);
  const ceres::Solver::Summary summary = solve(problem);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(summary.final_cost == 0);
  CHECK(x == 5);
}

// nlsq::Problem has no such blocks, and its exception passed through nlsq::Solve.
TEST_CASE("parameter blocks without numbers, in residual blocks and alone") {
  double none[1] = {7}, alone[1] = {8}, x = 5;
  ceres::Problem problem;
  problem.AddParameterBlock(alone, 0);
  problem.AddResidualBlock(new BesideNothing, nullptr, none, &x);
  const ceres::Solver::Summary summary = solve(problem);
  INFO(summary.message);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(summary.num_parameter_blocks == 3);
  CHECK(summary.num_parameters == 1);
  CHECK(x == doctest::Approx(2));
  CHECK(none[0] == 7);
}

TEST_CASE("if a manifold has no point, no gradient is small and no function is called") {
  bool called_there = false;
  double x[2] = {-1.2, 1};
  ceres::Problem problem;
  problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Rosenbrock, 2, 2>(new Rosenbrock{&called_there}),
                           nullptr, x);
  problem.SetManifold(x, new ShortSteps);
  ceres::Solver::Options options;
  options.max_num_iterations = 500;
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  INFO(summary.message);
  CHECK((summary.termination_type != ceres::CONVERGENCE || summary.final_cost < 1e-12));
  CHECK(summary.final_cost < summary.initial_cost);
  CHECK(!called_there);
  CHECK(summary.iterations.at(0).gradient_max_norm == std::numeric_limits<double>::infinity());
}

TEST_CASE("steps to points without derivatives fail, and end no solve by a tolerance") {
  double x[1] = {4};
  ceres::Problem problem;
  problem.AddResidualBlock(new NoSlope, nullptr, x);
  ceres::Solver::Summary summary;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  INFO(summary.message);
  CHECK(summary.termination_type != ceres::CONVERGENCE);
  int successful = 0;
  for (const ceres::IterationSummary& it : summary.iterations) successful += it.step_is_successful ? 1 : 0;
  CHECK(successful == summary.num_successful_steps);
}

// At its pole, the tangent coordinates of Ceres's sphere reverse from one point to the next, and a maximum
// looked like a minimum.
TEST_CASE("the point of a sphere that is farthest from the data is left") {
  for (const double side : {-1.0, 1.0}) {
    CAPTURE(side);
    double x[3] = {0, 0, 1};
    ceres::Problem problem;
    for (const double z : {0.9, 1.0, 1.1}) {
      problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Towards, 3, 3>(new Towards{0, 0, side * z}),
                               nullptr, x);
    }
    problem.SetManifold(x, new ceres::SphereManifold<3>);
    ceres::Solver::Options options;
    options.gradient_tolerance = 0;  // by this test alone, a maximum would pass as a minimum
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    INFO(summary.message);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
    CHECK(x[2] == doctest::Approx(side));
  }
}
