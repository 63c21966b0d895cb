// Tests bounds, the user's own losses, elimination groups, and callbacks of nlsq::Problem.
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>
#include <nlsq/problem_control.hpp>

#include <bal.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <span>
#include <typeinfo>
#include <vector>

using namespace nlsq;

namespace {

struct Coupled {  // the free minimum is at (4, -3)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] + x[1] - 1.0;
    r[1] = 0.5 * (x[0] - x[1] - 7.0);
    return true;
  }
};

struct Offset {
  double y;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] - y;
    return true;
  }
};

// A weighted measurement of the curve 1e-6 a x / (K + x) + 0.1 c, where K is known and (a, c) are fitted.
struct Saturation {
  double x, y, weight;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = (1e-6 * p[0] * (x / (1.2414345859958602 + x)) + 0.1 * p[1] - y) * weight;
    return true;
  }
};

// The residuals are those of a line exp(a) + b t, and the data have the slope `slope`. The function gives its
// own derivatives. Those by b are multiplied by `factor`, so they are wrong unless it is 1.
struct LineOfOwnDerivatives final : BlockFunction {
  static constexpr int rows = 12;
  double factor, slope;
  LineOfOwnDerivatives(double f, double s) : BlockFunction(rows), factor(f), slope(s) {}
  const void* kind() const override { return &typeid(*this); }
  Derivatives derivatives_by() const override { return Derivatives::own; }
  bool value(const double* const* blocks, double* r) const override {
    for (int i = 0; i < rows; ++i) {
      const double t = i - 5.5, y = 2 + slope * t + 0.1 * ((i * 7) % 5 - 2);
      r[i] = std::exp(blocks[0][0]) + blocks[0][1] * t - y;
    }
    return true;
  }
  bool derivatives(const double* const* blocks, double* r, double* const* J) const override {
    for (int i = 0; J[0] != nullptr && i < rows; ++i)
      J[0][2 * i] = std::exp(blocks[0][0]), J[0][2 * i + 1] = factor * (i - 5.5);
    return value(blocks, r);
  }
};

// The residual is 2 + x/1000, rounded to a float. At x = 0, a step of differences changes it by less than it
// is rounded.
struct RoundedLine final : BlockFunction {
  RoundedLine() : BlockFunction(1) {}
  const void* kind() const override { return &typeid(*this); }
  Derivatives derivatives_by() const override { return Derivatives::own; }
  bool value(const double* const* blocks, double* r) const override {
    r[0] = static_cast<float>(2 + blocks[0][0] / 1000);
    return true;
  }
  bool derivatives(const double* const* blocks, double* r, double* const* J) const override {
    if (J[0] != nullptr) J[0][0] = 1e-3;
    return value(blocks, r);
  }
};

}  // namespace

TEST_CASE(
    "Right derivatives by a number on its bound are not contradicted by residuals rounded like floats") {
  double x[1] = {1};
  Problem problem;
  const BlockRef blocks[] = {x};
  problem.add_residual_block(std::make_shared<RoundedLine>(), Loss(), std::span<const BlockRef>(blocks));
  problem.set_lower_bound(x, 0, 0);
  const Summary summary = solve(problem);
  INFO(summary.message);
  CHECK(x[0] == 0);
  CHECK(is_success(summary.verdict));
}

// A column of the wrong sign holds a number at the bound where it starts. The minimum is inside.
TEST_CASE("Wrong derivatives by a number on its bound are found by differences to the inside") {
  for (const double factor : {1.0, -1.0, 0.0}) {
    for (const double side : {1.0, -1.0}) {
      for (const bool robust : {false, true}) {
        CAPTURE(factor);
        CAPTURE(side);
        CAPTURE(robust);
        // With right derivatives, the minimum is outside, and the number stays on its bound.
        const double slope = factor == 1 ? -0.5 * side : 0.5 * side;
        double x[2] = {0.3, 0};
        Problem problem;
        const BlockRef blocks[] = {x};
        problem.add_residual_block(std::make_shared<LineOfOwnDerivatives>(factor, slope),
                                   robust ? Loss::huber(100) : Loss(), std::span<const BlockRef>(blocks));
        if (side > 0) problem.set_lower_bound(x, 1, 0);
        else problem.set_upper_bound(x, 1, 0);
        const Summary summary = solve(problem);
        INFO(summary.message);
        CHECK(summary.certificate.passed == (factor == 1));
        CHECK(summary.certificate.wrong_column == (factor == 1 ? -1 : 1));
      }
    }
  }
}

TEST_CASE("Each of the nine places of a box is where the minimum of a quadratic can lie") {
  // The box's corner cuts the plane. The minimum in each case follows from the normal equations 1.25 x + 0.75
  // y = 2.75, 0.75 x + 1.25 y = -0.75.
  for (const double x_high : {2.0, 9.0}) {
    for (const double y_low : {-2.0, -9.0}) {
      double x[2] = {0, 0};
      Problem problem;
      problem.add_residual_block<2>(Coupled{}, nullptr, {x});
      problem.set_upper_bound(x, 0, x_high);
      problem.set_lower_bound(x, 1, y_low);
      const Summary summary = solve(problem);
      CHECK(is_success(summary.verdict));
      const double free_x = (2.75 - 0.75 * y_low) / 1.25, free_y = (-0.75 - 0.75 * x_high) / 1.25;
      if (x_high == 9 && y_low == -9) {
        CHECK(x[0] == doctest::Approx(4));
        CHECK(x[1] == doctest::Approx(-3));
      } else if (x_high == 2 && y_low == -9) {
        CHECK(x[0] == 2);
        CHECK(x[1] == doctest::Approx(free_y));
      } else if (x_high == 9) {
        CHECK(x[1] == -2);
        CHECK(x[0] == doctest::Approx(free_x));
      } else {
        CHECK(x[0] == 2);
        CHECK(x[1] == doctest::Approx(std::max(-2.0, free_y)));
      }
    }
  }
}

TEST_CASE("A start at the wrong bound leaves it; rank counts the free numbers") {
  double x[2] = {-5, 0};
  Problem problem;
  problem.add_residual_block<2>(Coupled{}, nullptr, {x});
  problem.set_lower_bound(x, 0, -5);
  problem.set_upper_bound(x, 0, 3);
  const Summary summary = solve(problem);
  CHECK(summary.verdict == Verdict::converged);
  CHECK(x[0] == 3);
  CHECK(summary.certificate.rank == 1);
}

TEST_CASE(
    "With many bounds, in f32 and f64, for any number of threads: no coordinate outside, the same bits") {
  std::vector<double> first;
  for (const int threads : {1, 2, 4}) {
    bal::Problem scene = bal::generate(6, 400, 2400, 5);
    Problem problem;
    for (const bal::Observation& o : scene.observations) {
      problem.add_residual_block<2>(
          bal::Reprojection{o.x, o.y}, Loss::huber(2),
          {std::span(scene.camera(o.camera), 9), std::span(scene.point(o.point), 3)});
    }
    for (int p = 0; p < scene.points; ++p)
      problem.set_lower_bound(scene.point(p), 0, -2.7), problem.set_upper_bound(scene.point(p), 2, 2.7);
    for (const int c : {0, 1}) problem.set_constant(scene.camera(c));  // or all would shrink into the box
    SolverOptions options;
    options.threads = threads;
    options.max_iterations = 40;
    const Summary summary = solve(problem, options);
    CHECK(summary.final_cost < summary.initial_cost);
    int held = 0;
    for (int p = 0; p < scene.points; ++p) {
      CHECK(scene.point(p)[0] >= -2.7);
      CHECK(scene.point(p)[2] <= 2.7);
      held += (scene.point(p)[0] == -2.7) + (scene.point(p)[2] == 2.7);
    }
    CHECK(held > 10);
    if (first.empty()) first = scene.parameters;
    CHECK(scene.parameters == first);
  }
}

TEST_CASE("Crossed bounds name the number") {
  double x[2] = {0, 0};
  Problem problem;
  problem.add_residual_block<2>(Coupled{}, nullptr, {x});
  problem.set_lower_bound(x, 1, 2);
  problem.set_upper_bound(x, 1, 1);
  CHECK_THROWS_WITH_AS(solve(problem), doctest::Contains("number 1"), ValidationError);
  CHECK_THROWS_AS(problem.set_elimination_group(x, -1), ValidationError);
  CHECK_THROWS_AS(Loss::own(nullptr), ValidationError);
}

TEST_CASE("A loss of one's own that is Huber's gives Huber's bits") {
  double results[2];
  for (const bool own : {false, true}) {
    double x[1] = {0};
    Problem problem;
    const Loss huber = Loss::huber(0.5);
    const Loss mine = Loss::own([huber](double s) { return huber(s); });
    for (const double y : {1.0, 1.1, 0.9, 1.05, 7.0})
      problem.add_residual_block<1>(Offset{y}, own ? mine : huber, {x});
    CHECK(is_success(solve(problem).verdict));
    results[own] = x[0];
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("A control sees the start and every step, and ends the solve by its tests") {
  double x[2] = {-1.2, 1};
  const auto valley = [](const auto* p) {
    using T = std::remove_cvref_t<decltype(p[0])>;
    return std::array<T, 2>{10.0 * (p[1] - p[0] * p[0]), 1.0 - p[0]};
  };
  Problem problem;
  problem.add_residual_block(valley, nullptr, {x});
  ProblemControl control;
  control.gradient_tolerance = 1e-3;
  BlockSolveFacts facts;
  control.facts = &facts;
  std::vector<BlockStepReport> seen;
  int evaluations = 0;
  control.observer = [&](const BlockStepReport& step) {
    seen.push_back(step);
    return Continue;
  };
  control.before_evaluation = [&](std::span<const double> at, bool, bool) {
    ++evaluations;
    CHECK(at.size() == 2);
  };
  const Summary summary = solve(problem, {}, control);
  REQUIRE(seen.size() == static_cast<std::size_t>(summary.accepted + summary.rejected + 1));
  CHECK(seen.front().iteration == 0);
  CHECK(seen.back().gradient_max <= 1e-3);
  CHECK(seen[seen.size() - 2].gradient_max > 1e-3);
  CHECK(evaluations >= facts.cost_evaluations + facts.derivative_evaluations);
  CHECK(facts.linear_solves > 0);

  x[0] = -1.2, x[1] = 1;
  control.observer = [](const BlockStepReport& step) { return step.iteration == 2 ? Stop : Continue; };
  const Summary stopped = solve(problem, {}, control);
  CHECK(stopped.termination == Termination::user_stop);
  CHECK(stopped.accepted + stopped.rejected == 2);
}

// The solve starts with p[0] on its upper bound, and the cost falls if p[0] grows further. At the best p[1],
// a short step away, the cost falls if p[0] shrinks. The minimum therefore lies inside the box.
TEST_CASE(
    "A bound lets go of a parameter whose slope changes its sign on the way to the minimum of the others") {
  const Saturation rows[] = {{2.896234646942768, 0.6722261243111755, 0.048722089287918914},
                             {2.6175946588112966, 0.6482997273181476, 15.352259168606453},
                             {2.6920972951744147, 0.6550656284501508, 3.897200270126258}};
  const double bound = 1204977.7669701055;
  double p[2] = {bound, -2.721011525675293};
  Problem problem;
  for (const Saturation& row : rows) problem.add_residual_block<1>(row, Loss::soft_l1(3e-9), {p});
  problem.set_upper_bound(p, 0, bound);
  const Summary summary = solve(problem);
  CHECK(is_success(summary.verdict));
  CHECK(p[0] == doctest::Approx(1.11042929e6));
  CHECK(summary.final_cost < 1.9e-14);
}
