// 6. A Ceres program with one line changed. This file is built twice: as example_06_ceres_one_line, and, with
// NLSQ_EXAMPLE_AS_IT_WAS, as the program before the change.
//
// An observer on a tower measured bearings and distances of ships that passed buoys in a harbour. Some
// measurements are of another ship. We want the positions of the buoys. Each measurement is a residual block
// on a buoy and on the unknown bias of the tower's instruments.
#ifdef NLSQ_EXAMPLE_AS_IT_WAS
#include <ceres/ceres.h>
template <class F, int residuals, int... sizes>
using AutoDiff = ceres::AutoDiffCostFunction<F, residuals, sizes...>;
#else
#include <ceres/ceres.h>
#include <nlsq/ceres.hpp>
// Optional: nlsq's version of the class, whose functors run many at a time. Ceres's own class also works.
template <class F, int residuals, int... sizes>
using AutoDiff = nlsq::AutoDiffCostFunction<F, residuals, sizes...>;
#endif

#include <cmath>
#include <cstdio>
#include <iostream>

struct Sighting {
  double bearing, distance;

  template <class T>
  bool operator()(const T* buoy, const T* bias, T* residuals) const {
    using std::atan2, std::hypot;
    residuals[0] = 200.0 * (atan2(buoy[1], buoy[0]) + bias[0] - bearing);  // standard deviation 0.005 rad
    residuals[1] = hypot(buoy[0], buoy[1]) + bias[1] - distance;           // standard deviation 1 m
    return true;
  }
};

int main() {
  const double truth[4][2] = {{300, 150}, {-120, 410}, {520, -80}, {60, 250}};
  double buoys[4][2] = {{250, 250}, {-50, 300}, {400, 0}, {100, 150}};
  double bias[2] = {0, 0};  // of bearings and of distances

  ceres::Problem problem;
  for (int k = 0; k < 400; ++k) {
    const double* at = truth[k % 4];
    const double wobble = std::sin(12.9898 * k) + std::sin(78.233 * k),
                 other = std::cos(37.719 * k) + std::cos(4.581 * k);
    const double wrong = k % 23 == 5 ? 80 : 0;  // another ship
    Sighting s{std::atan2(at[1], at[0]) + 0.02 + 0.005 * wobble,
               std::hypot(at[0], at[1]) + 3 + other + wrong};
    problem.AddResidualBlock(new AutoDiff<Sighting, 2, 2, 2>(new Sighting(s)), new ceres::HuberLoss(2),
                             buoys[k % 4], bias);
  }
  // All bearings share one bias, so the position of one buoy must be known.
  problem.SetParameterBlockConstant(buoys[0]);
  buoys[0][0] = truth[0][0];
  buoys[0][1] = truth[0][1];

  ceres::Solver::Options options;
  options.function_tolerance = 1e-12;
  ceres::Solver::Summary summary;
#ifdef NLSQ_EXAMPLE_AS_IT_WAS
  ceres::Solve(options, &problem, &summary);
#else
  nlsq::Solve(options, &problem, &summary);  // the changed line
#endif

  std::cout << summary.BriefReport() << '\n';
  for (int i = 0; i < 4; ++i) std::printf("buoy %d at (%.2f, %.2f)\n", i, buoys[i][0], buoys[i][1]);
  std::printf("bias %.4f rad, %.3f m; cost %.6f\n", bias[0], bias[1], summary.final_cost);
  return summary.IsSolutionUsable() ? 0 : 1;
}
