// Tests a header that calls ceres::floor by its full name and is included before <nlsq/ceres.hpp>. The call
// finds Ceres's own template, which reads the jet's value. The functor then cannot be recorded, and the
// message must say why.
#include <ceres/ceres.h>

namespace {

struct WrapsAngle {
  double angle;
  template <class T>
  bool operator()(const T* x, T* r) const {
    const T d = x[0] - angle;
    r[0] = d - 6.283185307179586 * ceres::floor((d + 3.141592653589793) / 6.283185307179586);
    return true;
  }
};

}  // namespace

#include <nlsq/ceres.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

// The same call after nlsq's functions are declared.
struct WrapsLater {
  double angle;
  template <class T>
  bool operator()(const T* x, T* r) const {
    const T d = x[0] - angle;
    r[0] = d - 6.283185307179586 * ceres::floor((d + 3.141592653589793) / 6.283185307179586);
    return true;
  }
};

template <class F, class Summary>
Summary solve(double& x) {
  x = 7;
  ceres::Problem problem;
  for (int i = 0; i < 20; ++i)
    problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<F, 1, 1>(new F{0.5 + 0.01 * i}), nullptr, &x);
  Summary summary;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  return summary;
}

}  // namespace

TEST_CASE(
    "The note and Ceres's message say to include <nlsq/ceres.hpp> first; the answer is right all the same") {
  double x = 0, later = 0;
  const auto summary = solve<WrapsAngle, nlsq::Summary>(x);
  CHECK(summary.evaluator == "dual");
  CHECK(summary.evaluator_note.find("ceres::floor") != std::string::npos);
  CHECK(summary.evaluator_note.find("include <nlsq/ceres.hpp> first") != std::string::npos);
  const auto theirs = solve<WrapsAngle, ceres::Solver::Summary>(x);
  CHECK(theirs.termination_type == ceres::CONVERGENCE);
  CHECK(theirs.message.find("not recorded: ") != std::string::npos);
  CHECK(theirs.message.find("include <nlsq/ceres.hpp> first") != std::string::npos);
  const auto recorded = solve<WrapsLater, nlsq::Summary>(later);
  CHECK(recorded.evaluator == "graph");
  CHECK(later == doctest::Approx(x).epsilon(1e-12));
  CHECK(solve<WrapsLater, ceres::Solver::Summary>(later).message.find("recorded") == std::string::npos);
}
