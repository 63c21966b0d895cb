// Suite pose: pose graphs from one start, by nlsq::Solve and by Ceres, with the same ceres::Problem and
// options.
#include "suites/suites.hpp"

#if NLSQ_BENCH_CERES_ENTRY
#include <nlsq/ceres.hpp>

#include <pose_graph.hpp>

#include <ceres/ceres.h>

#include <fmt/format.h>

#include <string>
#include <type_traits>
#include <vector>

namespace bench {

namespace {

struct Outcome {
  double cost = 0;
  int steps = 0;
  std::string verdict;
};

template <class Measurement>
Outcome run(const pose_graph::Graph<Measurement>& graph, bool ours) {
  constexpr bool kPlanar = std::is_same_v<Measurement, pose_graph::Planar>;
  constexpr int kSize = kPlanar ? 3 : 7;
  std::vector<double> poses = graph.poses;
  ceres::Problem problem;
  const auto add = [&](auto* made, const auto&... blocks) {
    problem.AddResidualBlock(made, nullptr, blocks...);
  };
  for (const auto& edge : graph.edges) {
    double *a = poses.data() + kSize * edge.from, *b = poses.data() + kSize * edge.to;
    auto* functor = new Measurement(edge.measured);
    if constexpr (kPlanar) {
      if (ours)
        add(new nlsq::AutoDiffCostFunction<Measurement, 3, 1, 1, 1, 1, 1, 1>(functor), a, a + 1, a + 2, b,
            b + 1, b + 2);
      else
        add(new ceres::AutoDiffCostFunction<Measurement, 3, 1, 1, 1, 1, 1, 1>(functor), a, a + 1, a + 2, b,
            b + 1, b + 2);
    } else {
      if (ours) add(new nlsq::AutoDiffCostFunction<Measurement, 6, 3, 4, 3, 4>(functor), a, a + 3, b, b + 3);
      else add(new ceres::AutoDiffCostFunction<Measurement, 6, 3, 4, 3, 4>(functor), a, a + 3, b, b + 3);
    }
  }
  if constexpr (kPlanar) {
    for (int k = 0; k < 3; ++k) problem.SetParameterBlockConstant(poses.data() + k);
  } else {
    auto* manifold = new ceres::EigenQuaternionManifold;
    for (std::size_t i = 0; i < poses.size(); i += 7) problem.SetManifold(poses.data() + i + 3, manifold);
    for (int k : {0, 3}) problem.SetParameterBlockConstant(poses.data() + k);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::SPARSE_NORMAL_CHOLESKY;
  options.max_num_iterations = 100;
  options.function_tolerance = 1e-9;
  options.num_threads = 2;
  options.logging_type = ceres::SILENT;
  if (ours) {
    nlsq::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    return {summary.final_cost, summary.accepted + summary.rejected, nlsq::name(summary.verdict)};
  }
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return {summary.final_cost, static_cast<int>(summary.iterations.size()) - 1, ""};
}

template <class Measurement>
void compare(const std::string& name, const pose_graph::Graph<Measurement>& graph, const Settings& settings) {
  Outcome ours, theirs;
  const std::vector<Measured> measured =
      measure({{"nlsq::Solve", [&] { return ours = run(graph, true), std::vector{ours.cost}; }},
               {"Ceres SPARSE_NORMAL_CHOLESKY",
                [&] { return theirs = run(graph, false), std::vector{theirs.cost}; }}},
              settings);
  Row row;
  row.suite = "pose";
  row.name = fmt::format("{}, {} edges", name, graph.edges.size());
  row.ours_s = measured[0].seconds;
  row.peer = "Ceres SPARSE_NORMAL_CHOLESKY";
  row.peer_s = measured[1].seconds;
  row.max_rel_diff = largest_difference(measured[0].result, measured[1].result);
  row.sound = ours.cost <= theirs.cost * (1 + 1e-6);
  row.note = fmt::format("{} steps, {}; Ceres {} steps; difference: of the cost", ours.steps, ours.verdict,
                         theirs.steps);
  settings.report->add(row);
  settings.report->goal({"pose", fmt::format("{}: Ceres's time over ours", name),
                         measured[1].seconds / measured[0].seconds, Asked::at_least, 1, "x"});
}

}  // namespace

void run_pose(const Settings& settings) {
  settings.report->begin_suite("pose",
                               "pose graphs from dead reckoning to a relative decrease of 1e-9, set-up "
                               "included, 2 threads;\ngoal: not slower than "
                               "Ceres with CHOLMOD");
  compare("plane, 1000 poses", pose_graph::planar(1000, 100, 3, 1), settings);
  compare("space, 1000 poses", pose_graph::spatial(1000, 100, 3, 1), settings);
  if (settings.quick) return;
  compare("plane, 10000 poses", pose_graph::planar(10000, 500, 3, 1), settings);
  compare("space, 10000 poses", pose_graph::spatial(10000, 500, 3, 1), settings);
}

}  // namespace bench

#else

namespace bench {
void run_pose(const Settings& settings) {
  settings.report->begin_suite("pose", "built without Ceres: nothing to compare");
}
}  // namespace bench

#endif
