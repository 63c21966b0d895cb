// Tests nlsq::Certify, which judges what ceres::Solve found and changes nothing.
#include "ceres_problems.hpp"

#include "messages.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

using ceres_problems::cost, ceres_problems::Made, ceres_problems::tight;

namespace {

struct Growth {
  double t, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = p[0] * (1.0 - exp(-p[1] * t)) - y;
    return true;
  }
};

template <bool kOurs>
Made growth(std::vector<double> start = {1, 1}) {
  Made out(std::move(start));
  for (int i = 1; i <= 20; ++i) {
    const double t = 0.25 * i, y = 3 * (1 - std::exp(-0.7 * t)) + 0.01 * (i % 3);
    out.problem->AddResidualBlock(cost<kOurs, Growth, 1, 2>({t, y}), nullptr, out.x.data());
  }
  return out;
}

// This is Brown and Dennis's function (Moré, Garbow and Hillstrom, number 16). Its residuals are large at the
// minimum, so Gauss-Newton steps become shorter only slowly.
struct BrownDennis {
  double t;
  template <class T>
  bool operator()(const T* x, T* r) const {
    const T a = x[0] + t * x[1] - std::exp(t), b = x[2] + x[3] * std::sin(t) - std::cos(t);
    r[0] = a * a + b * b;
    return true;
  }
};

Made brown_dennis() {
  Made out({25, 5, -5, -1});
  for (int i = 1; i <= 20; ++i)
    out.problem->AddResidualBlock(cost<false, BrownDennis, 1, 4>({0.2 * i}), nullptr, out.x.data());
  return out;
}

ceres::Solver::Summary solve_by_ceres(Made& made, ceres::Solver::Options options) {
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, made.problem.get(), &summary);
  return summary;
}

nlsq::Summary certify(Made& made, const ceres::Solver::Options& options = {}) {
  nlsq::Summary summary;
  nlsq::Certify(options, made.problem.get(), &summary);
  return summary;
}

template <bool kOurs>
void check_growth() {
  Made made = growth<kOurs>();
  REQUIRE(solve_by_ceres(made, tight()).termination_type == ceres::CONVERGENCE);
  const std::vector<double> found = made.x;
  const nlsq::Summary ours = certify(made);
  CAPTURE(ours.message);
  CHECK(nlsq::is_success(ours.verdict));
  CHECK(ours.final_cost == doctest::Approx(made.cost()).epsilon(1e-12));
  ceres::Solver::Summary theirs;
  nlsq::Certify({}, made.problem.get(), &theirs);
  CHECK(theirs.termination_type == ceres::CONVERGENCE);
  CHECK(theirs.IsSolutionUsable());
  CHECK(theirs.final_cost == theirs.initial_cost);
  CHECK(theirs.num_residual_blocks == 20);
  CHECK(contains(theirs.message, "certified by"));
  CHECK(made.x == found);
  made.x[1] += 0.02;
  const std::vector<double> given = made.x;
  CHECK_FALSE(nlsq::is_success(certify(made).verdict));
  nlsq::Certify({}, made.problem.get(), &theirs);
  CHECK(theirs.termination_type == ceres::NO_CONVERGENCE);
  CHECK(contains(theirs.message, "not a certified minimum"));
  CHECK(made.x == given);
}

}  // namespace

TEST_CASE("the minimum that ceres::Solve found passes, other values do not, and blocks stay as they are") {
  SUBCASE("Ceres's cost functions") { check_growth<false>(); }
  SUBCASE("nlsq's cost functions") { check_growth<true>(); }
}

TEST_CASE("if Ceres's default tolerances stop early, the certificate says so") {
  Made early = brown_dennis();
  ceres::Solver::Options patient;  // these have default tolerances; 50 steps are too few
  patient.max_num_iterations = 20000;
  REQUIRE(solve_by_ceres(early, patient).termination_type == ceres::CONVERGENCE);
  const nlsq::Summary judged = certify(early);
  CAPTURE(judged.message);
  CHECK_FALSE(nlsq::is_success(judged.verdict));
  CHECK(contains(judged.message, "not a certified minimum"));
  // With tolerances near rounding, Ceres does not stop early.
  Made late = brown_dennis();
  ceres::Solver::Options options = tight();
  options.max_num_iterations = 20000;
  solve_by_ceres(late, options);
  CHECK(nlsq::is_success(certify(late).verdict));
}

TEST_CASE("bounds, constant blocks and losses are those of the problem") {
  Made made = growth<false>({1, 1});
  made.problem->SetParameterUpperBound(made.x.data(), 0, 2.5);
  ceres::Solver::Summary solved;
  nlsq::Solve(tight(), made.problem.get(), &solved);
  REQUIRE(made.x[0] == 2.5);
  CHECK(nlsq::is_success(certify(made).verdict));
  made.x[0] = 2.6;
  ceres::Solver::Summary summary;
  nlsq::Certify({}, made.problem.get(), &summary);
  CHECK(summary.termination_type == ceres::FAILURE);
  CHECK(contains(summary.message, "outside its bounds"));
  CHECK(made.x[0] == 2.6);

  Made fixed = growth<false>({1, 1});
  fixed.problem->SetParameterBlockConstant(fixed.x.data());
  CHECK(contains(certify(fixed).message, "not constant"));

  Made robust({1, 1});
  for (int i = 1; i <= 20; ++i) {
    const double t = 0.25 * i, y = 3 * (1 - std::exp(-0.7 * t)) + (i == 7 ? 2 : 0.01 * (i % 3));
    robust.problem->AddResidualBlock(cost<true, Growth, 1, 2>({t, y}), new ceres::CauchyLoss(0.05),
                                     robust.x.data());
  }
  solve_by_ceres(robust, tight());
  CHECK(nlsq::is_success(certify(robust).verdict));
}

TEST_CASE("problems that cannot be judged are reported as by nlsq::Solve") {
  nlsq::Summary ours;
  ceres::Solver::Summary theirs;
  CHECK(contains(message_of([&] { nlsq::Certify({}, nullptr, &ours); }), "null pointer"));
  Made made = growth<true>();
  ceres::Solver::Options wrong;
  wrong.max_num_iterations = -1;
  CHECK(contains(message_of([&] { nlsq::Certify(wrong, made.problem.get(), &ours); }), "max_num_iterations"));
  nlsq::Certify(wrong, made.problem.get(), &theirs);
  CHECK(theirs.termination_type == ceres::FAILURE);
  CHECK(contains(theirs.message, "max_num_iterations"));
  made.x[0] = std::nan("");
  nlsq::Certify({}, made.problem.get(), &theirs);
  CHECK(theirs.termination_type == ceres::FAILURE);
  CHECK(contains(theirs.message, "not finite"));
}
