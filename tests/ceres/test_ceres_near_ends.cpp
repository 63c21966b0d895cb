// Tests ends that look near to the linear model and are not: a loss has less curvature than the model takes
// it to have, the model misjudged the last step, or a loss or a manifold has wrong derivatives that few
// blocks show.
#include <nlsq/ceres.hpp>

#include "ceres/minus.hpp"

#include <ceres/autodiff_cost_function.h>
#include <ceres/loss_function.h>
#include <ceres/manifold.h>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace {

// Compares the difference of two numbers with a measurement.
struct Apart {
  double by, weight;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = (b[0] - a[0] - by) * weight;
    return true;
  }
};

// A decay, a slope and a wave whose frequency is the rate of the decay.
struct DecayAndWave {
  double x, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::cos, std::exp;
    r[0] = p[0] * exp(-p[1] * x) + p[2] * x + p[3] * cos(p[1] * x) - y;
    return true;
  }
};

// Huber's loss with a wrong slope beyond 1.
struct WrongHuber final : ceres::LossFunction {
  void Evaluate(double s, double* rho) const override {
    rho[0] = s <= 1 ? s : 2 * std::sqrt(s) - 1;
    rho[1] = s <= 1 ? 1 : 1 / s;
    rho[2] = s <= 1 ? 0 : -1 / (s * s);
  }
};

// A plane vector that turns. `factor` 0 forgets a part of the derivatives.
struct Turned final : ceres::Manifold {
  double factor;
  explicit Turned(double f) : factor(f) {}
  int AmbientSize() const override { return 2; }
  int TangentSize() const override { return 1; }
  bool Plus(const double* x, const double* d, double* out) const override {
    out[0] = std::cos(d[0]) * x[0] - std::sin(d[0]) * x[1];
    out[1] = std::sin(d[0]) * x[0] + std::cos(d[0]) * x[1];
    return true;
  }
  bool PlusJacobian(const double* x, double* J) const override {
    J[0] = -factor * x[1];
    J[1] = x[0];
    return true;
  }
  bool Minus(const double* y, const double* x, double* d) const override {
    d[0] = std::atan2(y[1] * x[0] - y[0] * x[1], y[0] * x[0] + y[1] * x[1]);
    return true;
  }
  bool MinusJacobian(const double* x, double* J) const override {
    J[0] = -x[1];
    J[1] = x[0];
    return true;
  }
};

// Compares a plane vector with a measured one.
struct Direction {
  double x, y;
  template <class T>
  bool operator()(const T* u, T* r) const {
    r[0] = u[0] - x;
    r[1] = u[1] - y;
    return true;
  }
};

template <class Functor, int... sizes>
ceres::CostFunction* cost_of(Functor f) {
  return new ceres::AutoDiffCostFunction<Functor, sizes...>(new Functor(f));
}

ceres::Solver::Summary solved(ceres::Problem& problem) {
  ceres::Solver::Options options;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  return summary;
}

}  // namespace

// Any step is short beside a map coordinate. So parameter_tolerance was met up to eight standard errors away.
TEST_CASE("a loss beside a large offset: CONVERGENCE means that no walk leads further down") {
  for (const double offset : {0.0, 4e6, 1.7e9}) {
    for (const unsigned seed : {2U, 41U, 97U}) {
      CAPTURE(offset);
      CAPTURE(seed);
      std::mt19937 random(seed);
      std::normal_distribution<> normal;
      std::uniform_real_distribution<> uniform;
      double p = offset + 20 * normal(random);
      ceres::Problem problem;
      constexpr int kRows = 40;
      for (int i = 0; i < kRows; ++i) {
        const double error = normal(random) * (uniform(random) < 0.3 ? 8 : 0.3);
        problem.AddResidualBlock(cost_of<Minus, 1, 1>(Minus{offset + error}), new ceres::CauchyLoss(0.1), &p);
      }
      const ceres::Solver::Summary summary = solved(problem);
      CAPTURE(summary.message);
      REQUIRE(summary.termination_type == ceres::CONVERGENCE);
      double lowest = summary.final_cost;
      for (const double step : {1e-4, -1e-4}) {
        const double end = p;
        for (double cost = summary.final_cost; cost <= lowest; p += step) {
          lowest = cost;
          problem.Evaluate({}, &cost, nullptr, nullptr, nullptr);
        }
        p = end;
      }
      const double sigma2 = 2 * lowest / (kRows - 1);
      CHECK(2 * (summary.final_cost - lowest) < 0.1 * 0.1 * sigma2);
    }
  }
}

// The fourth step gains a half of a per cent of what the model predicted. Further down the valley the cost is
// lower by 0.9 standard errors.
TEST_CASE("a step that gained a small part of what the model predicted meets no function_tolerance") {
  constexpr double kY[] = {1.901, 1.288,  1.597,  -0.508, 0.603, 0.088,  0.722,  0.234,  -1.110,
                           0.346, -0.777, 1.597,  -0.024, 0.051, 0.001,  0.867,  0.085,  -1.872,
                           1.091, -0.747, 0.017,  -0.091, 0.096, -2.151, -0.498, -0.969, 1.251,
                           0.482, -0.690, -1.639, 0.285,  0.052, -0.968, -1.305, -0.964, -1.899};
  double p[4] = {2.408, 1.3709, -0.0174, 0.229};
  ceres::Problem problem;
  for (std::size_t i = 0; i < std::size(kY); ++i)
    problem.AddResidualBlock(cost_of<DecayAndWave, 1, 4>({static_cast<double>(i) / 6, kY[i]}), nullptr, p);
  const ceres::Solver::Summary summary = solved(problem);
  CAPTURE(summary.message);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(summary.final_cost < 12.6);  // 12.8 after the fourth step
}

TEST_CASE("a wrong slope of a loss is found where few of many blocks have it") {
  std::mt19937 random(1);
  std::normal_distribution<> normal;
  constexpr std::size_t kNumbers = 10000;
  std::vector<double> x(kNumbers);
  ceres::Problem problem;
  for (std::size_t i = 1; i < kNumbers; ++i) {
    const double by = 1 + 0.1 * normal(random);
    x[i] = x[i - 1] + by;
    problem.AddResidualBlock(cost_of<Apart, 1, 1, 1>({by, 10}), nullptr, &x[i - 1], &x[i]);
  }
  for (std::size_t k = 0; k < 4; ++k) {
    const std::size_t from = 7 + 490 * k;
    const double by = 50 + 0.1 * normal(random) + (k % 2 == 0 ? 3 * std::fabs(normal(random)) : 0);
    problem.AddResidualBlock(cost_of<Apart, 1, 1, 1>({by, 5}), new WrongHuber, &x[from], &x[from + 50]);
  }
  problem.SetParameterBlockConstant(x.data());
  const ceres::Solver::Summary summary = solved(problem);
  CHECK(summary.termination_type == ceres::NO_CONVERGENCE);
  CHECK(summary.message.find("a loss gives") != std::string::npos);
}

TEST_CASE("a wrong manifold is found among many right ones") {
  constexpr std::size_t kBlocks = 400;
  std::array<std::array<double, 2>, kBlocks> u;
  ceres::Problem problem;
  ceres::Manifold* const right = new Turned(1);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const double angle = 0.3 * static_cast<double>(i);
    u[i] = {std::cos(angle + 0.4), std::sin(angle + 0.4)};
    problem.AddParameterBlock(u[i].data(), 2, i == 29 ? new Turned(0) : right);
    for (const double error : {-0.1, 0.05, 0.02})
      problem.AddResidualBlock(
          cost_of<Direction, 2, 2>({std::cos(angle) + error, std::sin(angle) - 2 * error}), nullptr,
          u[i].data());
  }
  const ceres::Solver::Summary summary = solved(problem);
  CAPTURE(summary.message);
  CHECK(summary.termination_type != ceres::CONVERGENCE);
  CHECK(summary.message.find("plus_jacobian") != std::string::npos);
}
