// Compares covariances of chosen blocks with Ceres's own, on the same functors at the same values.
#include <bal.hpp>
#include <pose_graph.hpp>
#include <sliding_window.hpp>

#include <nlsq/covariance.hpp>

#include <ceres/ceres.h>
#include <ceres/covariance.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace {

using Pairs = std::vector<std::pair<const double*, const double*>>;

// Returns the largest difference of all blocks, relative to the geometric mean of the two variances.
double difference(const nlsq::BlockCovariance& ours, const ceres::Covariance& theirs,
                  const std::vector<const double*>& blocks, bool tangent) {
  double largest = 0;
  for (const double* a : blocks) {
    for (const double* b : blocks) {
      const nlsq::Matrix mine = tangent ? ours.tangent_block(a, b) : ours.block(a, b);
      const nlsq::Matrix va = tangent ? ours.tangent_block(a, a) : ours.block(a, a),
                         vb = tangent ? ours.tangent_block(b, b) : ours.block(b, b);
      std::vector<double> other(mine.rows() * mine.columns());
      REQUIRE((tangent ? theirs.GetCovarianceBlockInTangentSpace(a, b, other.data())
                       : theirs.GetCovarianceBlock(a, b, other.data())));
      for (std::size_t i = 0; i < mine.rows(); ++i) {
        for (std::size_t j = 0; j < mine.columns(); ++j) {
          const double scale = std::sqrt(va(i, i) * vb(j, j));
          const double off = std::fabs(mine(i, j) - other[i * mine.columns() + j]);
          largest = std::max(largest, scale > 0 ? off / scale : off);
        }
      }
    }
  }
  return largest;
}

Pairs pairs(const std::vector<const double*>& blocks) {
  Pairs out;
  for (const double* a : blocks) {
    for (const double* b : blocks) out.emplace_back(a, b);
  }
  return out;
}

struct Both {
  nlsq::Problem ours;
  ceres::Problem theirs;
  std::vector<const double*> poses, points;
  void add_pose(double* pose) {
    ours.add_parameter_block(pose, 6);
    theirs.AddParameterBlock(pose, 6);
    poses.push_back(pose);
  }
  void add_point(double* point) {
    ours.add_parameter_block(point, 3);
    theirs.AddParameterBlock(point, 3);
    points.push_back(point);
  }
  void add(const sliding_window::Sight& sight, double* pose, double* point) {
    ours.add_residual_block(sight, nullptr, {pose, point});
    theirs.AddResidualBlock(
        new ceres::AutoDiffCostFunction<sliding_window::Sight, 2, 6, 3>(new sliding_window::Sight(sight)),
        nullptr, pose, point);
  }
  void add(const sliding_window::Motion& motion, double* a, double* b) {
    ours.add_residual_block(motion, nullptr, {a, b});
    theirs.AddResidualBlock(
        new ceres::AutoDiffCostFunction<sliding_window::Motion, 6, 6, 6>(new sliding_window::Motion(motion)),
        nullptr, a, b);
  }
  void remove(double*) {}
  void hold(double* pose) {
    ours.set_constant(pose);
    theirs.SetParameterBlockConstant(pose);
  }
  double solve() {
    nlsq::solve(ours, {});
    const std::vector<const double*> blocks{poses[0], poses[3], points[7], poses.back(), points.back()};
    const nlsq::BlockCovariance mine = nlsq::covariance(ours, blocks);
    CHECK(mine.determined);
    ceres::Covariance::Options options;
    options.algorithm_type = ceres::SPARSE_QR;
    options.sparse_linear_algebra_library_type = ceres::EIGEN_SPARSE;
    ceres::Covariance covariance(options);
    REQUIRE(covariance.Compute(pairs(blocks), &theirs));
    CHECK(difference(mine, covariance, blocks, false) < 1e-8);
    return 0;
  }
};

}  // namespace

TEST_CASE("Poses and points of a window") {
  Both both;
  sliding_window::slide(sliding_window::drive(sliding_window::kWindow, 2), both);
}

TEST_CASE("A pose graph in space: on the manifold, and in ambient numbers") {
  auto graph = pose_graph::spatial(60, 12, 3, 4);
  nlsq::Problem ours;
  ceres::Problem theirs;
  auto* manifold = new ceres::EigenQuaternionManifold;
  for (std::size_t i = 0; i < graph.poses.size(); i += 7) {
    ours.add_parameter_block(&graph.poses[i], 3);
    ours.add_parameter_block(&graph.poses[i + 3], 4, nlsq::eigen_quaternion_manifold());
    theirs.AddParameterBlock(&graph.poses[i], 3);
    theirs.AddParameterBlock(&graph.poses[i + 3], 4, manifold);
  }
  for (const auto& edge : graph.edges) {
    double *a = &graph.poses[static_cast<std::size_t>(7 * edge.from)],
           *b = &graph.poses[static_cast<std::size_t>(7 * edge.to)];
    ours.add_residual_block<6>(edge.measured, nullptr, {a, a + 3, b, b + 3});
    theirs.AddResidualBlock(new ceres::AutoDiffCostFunction<pose_graph::Spatial, 6, 3, 4, 3, 4>(
                                new pose_graph::Spatial(edge.measured)),
                            nullptr, a, a + 3, b, b + 3);
  }
  for (std::size_t k : {std::size_t{0}, std::size_t{3}}) {
    ours.set_constant(&graph.poses[k]);
    theirs.SetParameterBlockConstant(&graph.poses[k]);
  }
  REQUIRE(nlsq::is_success(nlsq::solve(ours).verdict));
  const std::vector<const double*> blocks{&graph.poses[0], &graph.poses[7 * 30], &graph.poses[7 * 30 + 3],
                                          &graph.poses[7 * 59 + 3]};
  const nlsq::BlockCovariance mine = nlsq::covariance(ours, blocks);
  CHECK(mine.determined);
  ceres::Covariance covariance{ceres::Covariance::Options()};
  REQUIRE(covariance.Compute(pairs(blocks), &theirs));
  CHECK(difference(mine, covariance, blocks, false) < 1e-8);
  CHECK(difference(mine, covariance, blocks, true) < 1e-8);
}

TEST_CASE("A gauge that nothing fixes: both refuse, and give the same pseudo-inverse") {
  bal::Problem scene = bal::generate(4, 12, 40, 3);
  nlsq::Problem ours;
  ceres::Problem theirs;
  for (const bal::Observation& o : scene.observations) {
    for (auto [block, size] : {std::pair(scene.camera(o.camera), 9), std::pair(scene.point(o.point), 3)})
      ours.add_parameter_block(block, size);
    ours.add_residual_block<2>(bal::Reprojection{o.x, o.y}, nullptr,
                               {scene.camera(o.camera), scene.point(o.point)});
    theirs.AddResidualBlock(
        new ceres::AutoDiffCostFunction<bal::Reprojection, 2, 9, 3>(new bal::Reprojection{o.x, o.y}), nullptr,
        scene.camera(o.camera), scene.point(o.point));
  }
  nlsq::solve(ours);
  const std::vector<const double*> blocks{scene.camera(1), scene.point(3)};
  const nlsq::BlockCovariance none = nlsq::covariance(ours, blocks);
  CHECK_FALSE(none.determined);
  CHECK(none.rank == 4 * 9 + 12 * 3 - 7);
  CHECK(std::isnan(none.block(blocks[0])(0, 0)));
  ceres::Covariance::Options plain;
  plain.sparse_linear_algebra_library_type = ceres::EIGEN_SPARSE;
  ceres::Covariance refused(plain);
  CHECK_FALSE(refused.Compute(pairs(blocks), &theirs));
  nlsq::CovarianceOptions asked;
  asked.pseudo_inverse = true;
  const nlsq::BlockCovariance mine = nlsq::covariance(ours, blocks, asked);
  ceres::Covariance::Options options;
  options.algorithm_type = ceres::DENSE_SVD;
  options.null_space_rank = 7;
  ceres::Covariance covariance(options);
  REQUIRE(covariance.Compute(pairs(blocks), &theirs));
  CHECK(difference(mine, covariance, blocks, false) < 1e-4);  // κ of J in its own units is about 1e7
}
