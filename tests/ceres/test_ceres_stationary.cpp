// Tests nlsq::Solve where a tolerance of Ceres is met although x is no minimum: at a maximum with a level
// direction, and far from the minimum of a problem without degrees of freedom. Also tests minima at kinks,
// and starts that bounds do not allow.
#include "ceres_problems.hpp"

#include <ceres/rotation.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace {

struct RotationTo {
  std::array<double, 9> to;
  template <class T>
  bool operator()(const T* x, T* r) const {
    ceres::AngleAxisToRotationMatrix(x, r);
    for (std::size_t i = 0; i < 9; ++i) r[i] -= to[i];
    return true;
  }
};

struct Broken {  // a line whose slope changes at b[0]
  double t, y;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::abs;
    r[0] = a[0] * abs(t - b[0]) + a[1] + b[1] * t - y;
    return true;
  }
};

struct TwoOfTwo {  // has its minimum, a cost of 0, at (1e6, 2e-6)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] - 1e6;
    r[1] = x[0] * x[1] - 2.0;
    return true;
  }
};

// Every residual has a kink by the first number. Half of the derivatives by the other numbers are wrong.
struct WrongBesideKink final : ceres::CostFunction {
  static constexpr int kOthers = 39;
  WrongBesideKink() {
    set_num_residuals(2 * kOthers);
    mutable_parameter_block_sizes()->push_back(1 + kOthers);
  }
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    const double* p = x[0];
    for (int i = 0; i < 2 * kOthers; ++i) {
      const int other = 1 + i % kOthers;
      r[i] = 100 * std::fabs(p[0]) + p[other] - other - (i < kOthers ? 0 : 0.5);
      if (J == nullptr || J[0] == nullptr) continue;
      double* row = J[0] + static_cast<std::ptrdiff_t>(i) * (1 + kOthers);
      std::fill_n(row, 1 + kOthers, 0.0);
      row[0] = p[0] > 0 ? 100 : p[0] < 0 ? -100 : 0;
      row[other] = i < kOthers ? 1 : -0.3;
    }
    return true;
  }
};

struct FromHalf {
  template <class T>
  bool operator()(const T* x, T* r) const {
    for (int i = 0; i < 4; ++i) r[i] = x[i] - 0.5;
    return true;
  }
};

}  // namespace

// At the start the gradient is 0. The cost falls if the angle about one axis changes, and stays the same if
// one of the other two does.
TEST_CASE("a rotation by 180 degrees is found from the identity") {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    CAPTURE(axis);
    double turn[3] = {}, x[3] = {};
    turn[axis] = std::numbers::pi;
    RotationTo f{};
    ceres::AngleAxisToRotationMatrix(turn, f.to.data());
    ceres::Problem problem;
    problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<RotationTo, 9, 3>(new RotationTo(f)), nullptr, x);
    nlsq::Summary judged;
    nlsq::Certify(ceres::Solver::Options(), &problem, &judged);
    INFO(judged.message);
    CHECK_FALSE(judged.certificate.passed);
    CHECK(judged.message.find("the cost is lower in a direction") != std::string::npos);
    ceres::Solver::Options options;
    options.logging_type = ceres::SILENT;
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    INFO(summary.message);
    CHECK(summary.final_cost < 1e-8);
  }
}

TEST_CASE("derivatives of one side of a kink are not blamed") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const double slopes[2] = {1, 1}, bend[2] = {ceres_problems::uniform(random, 1, 3), -0.5};
    double a[2] = {1.2, 0.7}, b[2] = {2, 0};
    ceres::Problem problem;
    for (int i = 0; i < 20; ++i) {
      Broken f{0.2 * i, 0};
      double y = 0;
      f(slopes, bend, &y);
      f.y = y + 0.1 * ceres_problems::noise(random);
      problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Broken, 1, 2, 2>(new Broken(f)), nullptr, a,
                               b);
    }
    ceres::Solver::Summary summary;
    nlsq::Solve(ceres_problems::tight(), &problem, &summary);
    INFO(summary.message);
    CHECK(summary.message.find("disagree") == std::string::npos);
  }
}

TEST_CASE("a kink of one number does not hide wrong derivatives by others") {
  std::vector<double> p(1 + WrongBesideKink::kOthers, 1.0);
  p[0] = 0;
  ceres::Problem problem;
  problem.AddResidualBlock(new WrongBesideKink, nullptr, p.data());
  ceres::Solver::Options options;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  CHECK(summary.termination_type != ceres::CONVERGENCE);
  CHECK(summary.message.find("disagree with differences") != std::string::npos);
}

TEST_CASE("short steps far from the minimum are no convergence without degrees of freedom, either") {
  double x[2] = {-2.9, 4.9};
  ceres::Problem problem;
  problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<TwoOfTwo, 2, 2>(new TwoOfTwo), nullptr, x);
  ceres::Solver::Options options;
  options.logging_type = ceres::SILENT;
  options.initial_trust_region_radius = 2.5e-6;
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  INFO(summary.message);
  CHECK((summary.termination_type != ceres::CONVERGENCE || summary.final_cost < 1));
}

TEST_CASE("a number of a manifold that starts outside its bounds is a failure, and nothing is thrown") {
  double q[4] = {0, 0, 0, 1};
  ceres::Problem problem;
  problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<FromHalf, 4, 4>(new FromHalf), nullptr, q);
  problem.SetManifold(q, new ceres::QuaternionManifold);
  problem.SetParameterLowerBound(q, 0, 0.5);
  ceres::Solver::Summary summary;
  nlsq::Solve(ceres_problems::tight(), &problem, &summary);
  CHECK(summary.termination_type == ceres::FAILURE);
  CHECK(summary.message.find("outside its bounds") != std::string::npos);
  CHECK(q[3] == 1);
}
