// Tests parameters that are large offsets, such as seconds since 1970. Tolerances and checks of derivatives
// that are relative to a parameter must not mistake its size for the size of a change.
#include <nlsq/ceres.hpp>

#include <ceres/ceres.h>
#include <doctest/doctest.h>

#include <cmath>
#include <string>

namespace {

struct SineOfSeconds {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::sin;
    r[0] = p[0] * sin(p[1] * (t - p[2])) - y;
    return true;
  }
};

}  // namespace

// One step of the usual differences is a few hours long. Over such a step a sine cannot change as much as its
// slope predicts.
TEST_CASE("derivatives by seconds since 1970 are not called wrong") {
  for (const double wrong : {1.0, 3.0}) {
    CAPTURE(wrong);
    struct Sine final : ceres::SizedCostFunction<1, 3> {
      ceres::AutoDiffCostFunction<SineOfSeconds, 1, 3> right;
      double wrong;
      Sine(double t, double y, double by) : right(new SineOfSeconds{t, y}), wrong(by) {}
      bool Evaluate(double const* const* x, double* r, double** J) const override {
        if (!right.Evaluate(x, r, J)) return false;
        if (J != nullptr && J[0] != nullptr) J[0][2] *= wrong;
        return true;
      }
    };
    double p[3] = {1, 1.1, 1.7e9};
    ceres::Problem problem;
    for (int i = 0; i < 80; ++i) {
      const double t = 0.1 * i, y = 2 * std::sin(1.3 * (t - 0.4)) + 0.05 * (i % 3);
      problem.AddResidualBlock(new Sine(1.7e9 + t, y, wrong), nullptr, p);
    }
    ceres::Solver::Summary summary;
    nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
    INFO(summary.message);
    CHECK((summary.message.find("disagree with differences") != std::string::npos) == (wrong != 1));
  }
}

// Relative to 1.7e9 s every step is short. The solve must not end while a step still moves the sine by
// several standard errors.
TEST_CASE("a short step beside seconds since 1970 ends no solve while it promises more than noise") {
  double p[3] = {1, 1.1, 1.7e9};
  ceres::Problem problem;
  for (int i = 0; i < 80; ++i) {
    const double t = 0.1 * i, y = 2 * std::sin(1.3 * (t - 0.4)) + 0.05 * (i % 3);
    problem.AddResidualBlock(
        new ceres::AutoDiffCostFunction<SineOfSeconds, 1, 3>(new SineOfSeconds{1.7e9 + t, y}), nullptr, p);
  }
  ceres::Solver::Options options;
  options.function_tolerance = options.gradient_tolerance = 0;
  ceres::Solver::Summary summary, further;
  nlsq::Solve(options, &problem, &summary);
  INFO(summary.message);
  REQUIRE(summary.termination_type == ceres::CONVERGENCE);
  options.parameter_tolerance = 0;
  ceres::Solve(options, &problem, &further);
  CHECK(summary.final_cost - further.final_cost <= 0.005 * 2 * summary.final_cost / 77);
}
