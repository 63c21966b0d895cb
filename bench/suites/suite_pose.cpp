// Suite pose solves pose graphs from one start, by nlsq::Solve and by Ceres, with the same ceres::Problem and
// options.
#include "suites/suites.hpp"

#if NLSQ_BENCH_CERES_ENTRY
#include <nlsq/ceres.hpp>

#include "suites/hard_graphs.hpp"

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
  int steps = 0, rejected = 0;
  std::string verdict;
};

Outcome solve(ceres::Problem& problem, ceres::Solver::Options options, bool ours) {
  options.linear_solver_type = ceres::SPARSE_NORMAL_CHOLESKY;
  options.logging_type = ceres::SILENT;
  if (ours) {
    nlsq::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    return {summary.final_cost, summary.accepted + summary.rejected, summary.rejected,
            nlsq::name(summary.verdict)};
  }
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return {summary.final_cost, static_cast<int>(summary.iterations.size()) - 1, summary.num_unsuccessful_steps,
          ""};
}

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
  options.max_num_iterations = 100;
  options.function_tolerance = 1e-9;
  options.num_threads = 2;
  return solve(problem, options, ours);
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

Outcome run_hard(const hard_graphs::Graph& graph, bool ours) {
  using hard_graphs::Measurement;
  std::vector<double> poses = graph.poses;
  ceres::Problem problem;
  for (const auto& edge : graph.edges) {
    auto* made = new nlsq::AutoDiffCostFunction<Measurement, 3, 3, 3>(new Measurement(edge.measured));
    problem.AddResidualBlock(made, nullptr, &poses[3 * static_cast<std::size_t>(edge.from)],
                             &poses[3 * static_cast<std::size_t>(edge.to)]);
  }
  problem.SetParameterBlockConstant(poses.data());
  ceres::Solver::Options options;
  options.max_num_iterations = 300;
  return solve(problem, options, ours);
}

// Compares graphs from far starts. The solvers may end in different minima, so these are counted; steps are
// compared where both end in the same one.
void compare_hard(int graphs, const Settings& settings) {
  int lower = 0, higher = 0, same = 0, steps = 0, their_steps = 0, rejected = 0, their_rejected = 0;
  double seconds = 0, their_seconds = 0;
  for (int k = 0; k < graphs; ++k) {
    const hard_graphs::Graph graph = hard_graphs::Drive(static_cast<unsigned>(k) + 1).graph();
    Outcome ours, theirs;
    const std::vector<Measured> measured =
        measure({{"nlsq::Solve", [&] { return ours = run_hard(graph, true), std::vector{ours.cost}; }},
                 {"Ceres", [&] { return theirs = run_hard(graph, false), std::vector{theirs.cost}; }}},
                settings);
    seconds += measured[0].seconds, their_seconds += measured[1].seconds;
    constexpr double kSame = 1e-3;
    if (ours.cost < theirs.cost * (1 - kSame)) ++lower;
    else if (ours.cost > theirs.cost * (1 + kSame)) ++higher;
    else ++same, steps += ours.steps, their_steps += theirs.steps;
    rejected += ours.rejected, their_rejected += theirs.rejected;
  }
  Row row;
  row.suite = "pose";
  row.name = fmt::format("streets, poor odometry, {} graphs", graphs);
  row.ours_s = seconds;
  row.peer = "Ceres SPARSE_NORMAL_CHOLESKY";
  row.peer_s = their_seconds;
  row.note = fmt::format("{} end alike in {} steps, Ceres {}; {} lower, {} higher; {} rejected, Ceres {}",
                         same, steps, their_steps, lower, higher, rejected, their_rejected);
  settings.report->add(row);
  settings.report->goal({"pose", "streets: steps over Ceres's, to the same minimum",
                         static_cast<double>(steps) / their_steps, Asked::at_most, 1, "x"});
}

}  // namespace

void run_pose(const Settings& settings) {
  settings.report->begin_suite("pose",
                               "pose graphs from dead reckoning to a relative decrease of 1e-9, set-up "
                               "included, 2 threads;\ngoal: not slower than "
                               "Ceres with CHOLMOD");
  compare("plane, 1000 poses", pose_graph::planar(1000, 100, 3, 1), settings);
  compare("space, 1000 poses", pose_graph::spatial(1000, 100, 3, 1), settings);
  compare_hard(settings.quick ? 20 : 200, settings);
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
