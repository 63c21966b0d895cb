// 7. Pose graphs. A robot drives rounds in the plane, and another flies them in space. Both measure each
// motion, and sometimes their pose relative to that of a round before. Positions from the motions alone
// drift. The example finds the poses that agree best with all measurements, and the uncertainty of the last
// one.
#include "pose_graph.hpp"

#include <nlsq/covariance.hpp>
#include <nlsq/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace {

double residual_size(const nlsq::ProblemEvaluation& e) {
  return std::sqrt(2 * e.cost / static_cast<double>(e.residuals.size()));
}

// x, y and angle of each pose are parameter blocks of one number each. The solver combines the three.
void plane() {
  pose_graph::Graph<pose_graph::Planar> graph = pose_graph::planar(300, 60, 3, 1);
  const auto pose = [&](int i) { return graph.poses.data() + 3 * i; };
  nlsq::Problem problem;
  for (double& number : graph.poses) problem.add_parameter_block(&number, 1);
  for (const auto& edge : graph.edges) {
    double *a = pose(edge.from), *b = pose(edge.to);
    problem.add_residual_block<3>(edge.measured, nullptr, {a, a + 1, a + 2, b, b + 1, b + 2});
  }
  for (int k = 0; k < 3; ++k) problem.set_constant(pose(0) + k);  // fixes the position of the whole graph
  const double before = residual_size(problem.evaluate());
  const nlsq::Summary summary = nlsq::solve(problem);
  double* last = pose(299);
  const nlsq::BlockCovariance c = nlsq::covariance(problem, {last, last + 1});
  std::printf("plane: residuals %.1f -> %.2f of their standard deviations, %s\n", before,
              residual_size(problem.evaluate()), nlsq::name(summary.verdict));
  std::printf("  last pose at (%.2f, %.2f) +- (%.2f, %.2f)\n", last[0], last[1],
              std::sqrt(c.block(last)(0, 0)), std::sqrt(c.block(last + 1)(0, 0)));
}

// Each pose is a position, and a unit quaternion on its manifold.
void space() {
  pose_graph::Graph<pose_graph::Spatial> graph = pose_graph::spatial(300, 60, 3, 1);
  const auto pose = [&](int i) { return graph.poses.data() + 7 * i; };
  nlsq::Problem problem;
  const nlsq::ManifoldPtr turn = nlsq::eigen_quaternion_manifold();
  for (int i = 0; i < 300; ++i) {
    problem.add_parameter_block(pose(i), 3);
    problem.add_parameter_block(pose(i) + 3, 4, turn);
  }
  for (const auto& edge : graph.edges) {
    double *a = pose(edge.from), *b = pose(edge.to);
    problem.add_residual_block<6>(edge.measured, nullptr, {a, a + 3, b, b + 3});
  }
  problem.set_constant(pose(0));
  problem.set_constant(pose(0) + 3);
  const double before = residual_size(problem.evaluate());
  const nlsq::Summary summary = nlsq::solve(problem);
  double* last = pose(299);
  const nlsq::BlockCovariance c = nlsq::covariance(problem, {last, last + 3});
  std::printf("space: residuals %.1f -> %.2f of their standard deviations, %s\n", before,
              residual_size(problem.evaluate()), nlsq::name(summary.verdict));
  const nlsq::Matrix place = c.block(last),
                     angle = c.tangent_block(last + 3, last + 3);  // of half the rotation vector
  std::printf(
      "  last pose at (%.2f, %.2f, %.2f) +- (%.2f, %.2f, %.2f), turned by some %.4f rad more or less\n",
      last[0], last[1], last[2], std::sqrt(place(0, 0)), std::sqrt(place(1, 1)), std::sqrt(place(2, 2)),
      2 * std::sqrt(std::max({angle(0, 0), angle(1, 1), angle(2, 2)})));
}

}  // namespace

int main() {
  plane();
  space();
}
