// Solves regressions of NIST and the functions of Moré, Garbow and Hillstrom as Ceres programs, by Ceres and
// by nlsq.
#include "ceres_comparison.hpp"

#include <mgh.hpp>
#include <nist.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

using ceres_problems::compare, ceres_problems::cost, ceres_problems::Made, ceres_problems::tight;

namespace {

// Misra1a, Chwirut2, MGH09, Thurber, Eckerle4 and Rat43 represent each kind of NIST's models.
template <int which>
struct Nist {
  double x, y;
  template <class T>
  bool operator()(const T* b, T* r) const {
    using std::exp, std::pow;
    T f(0.0);
    if constexpr (which == 0) f = b[0] * (1.0 - exp(-b[1] * x));
    if constexpr (which == 1) f = exp(-b[0] * x) / (b[1] + b[2] * x);
    if constexpr (which == 2) f = b[0] * (x * x + x * b[1]) / (x * x + x * b[2] + b[3]);
    if constexpr (which == 3)
      f = (b[0] + b[1] * x + b[2] * x * x + b[3] * x * x * x) /
          (1.0 + b[4] * x + b[5] * x * x + b[6] * x * x * x);
    if constexpr (which == 4) f = b[0] / b[1] * exp(-0.5 * ((x - b[2]) / b[1]) * ((x - b[2]) / b[1]));
    if constexpr (which == 5) f = b[0] / pow(1.0 + exp(b[1] - b[2] * x), 1.0 / b[3]);
    r[0] = y - f;
    return true;
  }
};

template <int which, int n>
void fit_nist(const char* name) {
  const nist::Set set = nist::find(nist::load(), name);
  compare(name, [&](auto ours) {
    auto made = std::make_unique<Made>(set.start2);
    for (std::size_t i = 0; i < set.rows(); ++i) {
      made->problem->AddResidualBlock(cost<ours(), Nist<which>, 1, n>({set.x[0][i], set.y[i]}), nullptr,
                                      made->x.data());
    }
    return made;
  });
}

}  // namespace

TEST_CASE("NIST's regressions") {
  fit_nist<0, 2>("Misra1a");
  fit_nist<1, 3>("Chwirut2");
  fit_nist<2, 4>("MGH09");
  fit_nist<3, 7>("Thurber");
  fit_nist<4, 3>("Eckerle4");
  fit_nist<5, 4>("Rat43");
}

namespace {

// Solves the problem and returns true if nlsq::Solve claims success. Checks that the claim rests on a
// certificate or on a tolerance, and that the answer is a minimum if it is certified or the tolerance is
// tight.
template <class F>
bool claims_rightly(double scale, const ceres::Solver::Options& options) {
  const auto make = [&] {
    std::vector<double> start(F::start.begin(), F::start.end());
    for (double& v : start) v *= scale;
    auto made = std::make_unique<Made>(start);
    made->problem->AddResidualBlock(cost<true, F, F::residuals, F::parameters>({}), nullptr, made->x.data());
    return made;
  };
  const std::unique_ptr<Made> made = make(), again = make();
  nlsq::Summary ours;
  nlsq::Solve(options, made->problem.get(), &ours);
  ceres::Solver::Summary summary;
  nlsq::Solve(options, again->problem.get(), &summary);
  INFO(summary.message);
  CHECK(made->x == again->x);
  const bool claimed = summary.termination_type == ceres::CONVERGENCE;
  const bool certified = ours.certificate.passed;
  if (certified) CHECK(claimed);
  if (claimed && !certified) CHECK(summary.message.find("_tolerance: ") != std::string::npos);
  const bool tight = options.function_tolerance <= 1e-10;
  if (certified || (claimed && tight)) ceres_problems::check_claim(*made, options, ours.initial_cost, 1e-12);
  return claimed;
}

}  // namespace

TEST_CASE(
    "Functions of Moré, Garbow and Hillstrom, from near and far: only true minima are called a success") {
  int claimed = 0, solves = 0;
  problems::mgh::for_each([&]<class F>(F) {
    for (const double scale : {1.0, 10.0, 100.0}) {
      for (const double tolerance : {0.0, 1e-15, 1e-18}) {
        INFO(std::string(F::name));
        CAPTURE(scale);
        CAPTURE(tolerance);
        ceres::Solver::Options options = ceres_problems::Comparison().options;
        if (tolerance > 0) {
          ceres_problems::set_tolerances(options, tolerance);
          options.max_num_iterations = 500;
        }
        ++solves;
        claimed += claims_rightly<F>(scale, options);
      }
    }
  });
  CHECK(claimed >= solves * 7 / 10);
}

namespace {

struct Logarithm {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::log;
    r[0] = log(p[0] * t + p[1]) - y;
    return true;
  }
};

}  // namespace

// TukeyLoss of Ceres has a finite value for NaN, so that the cost is finite where residuals are not. Where
// the slope is negative, the curve is not defined for later t.
TEST_CASE("a loss that is finite for NaN hides no NaN") {
  for (const double slope : {-0.4, -0.2, -0.05, 0.2, 0.5}) {
    for (const double level : {0.1, 0.8, 1.6, 2.9}) {
      CAPTURE(slope);
      CAPTURE(level);
      double p[2] = {slope, level};
      ceres::Problem problem;
      for (int i = 0; i < 15; ++i) {
        const double t = 0.6 * i, y = std::log(0.1 + 0.7 * t) + 0.05 * std::sin(7.0 * i);
        problem.AddResidualBlock(cost<true, Logarithm, 1, 2>({t, y}), new ceres::TukeyLoss(0.5), p);
      }
      const bool defined = slope * 8.4 + level > 0;
      ceres::Solver::Summary summary;
      nlsq::Solve(tight(), &problem, &summary);
      INFO(summary.message);
      CHECK(defined == summary.IsSolutionUsable());
      CHECK((!summary.IsSolutionUsable() || std::isfinite(summary.final_cost)));
      CHECK(summary.message.find("do not repeat") == std::string::npos);
    }
  }
}
