// This is a program outside the tree that uses the component `ceres`: a recorded cost function and one of
// Ceres's own.
#include <nlsq/ceres.hpp>

#include <ceres/ceres.h>

#include <cmath>
#include <iostream>

struct Pull {
  double to;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * x[0] - to;
    return true;
  }
};

int main() {
  double x = 3;
  ceres::Problem problem;
  problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<Pull, 1, 1>(new Pull{2}), nullptr, &x);
  problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Pull, 1, 1>(new Pull{2}), nullptr, &x);
  ceres::Solver::Options options;
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  std::cout << summary.BriefReport() << '\n' << x << '\n';
  return summary.IsSolutionUsable() && std::abs(x - std::sqrt(2.0)) < 1e-8 ? 0 : 1;
}
