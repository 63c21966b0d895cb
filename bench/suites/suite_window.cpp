// Suite window solves a sliding window again at every frame, by nlsq::Problem, nlsq::Solve and Ceres.
// Problems persist between frames, with blocks added and removed.
#include "suites/suites.hpp"

#if NLSQ_BENCH_CERES_ENTRY
#include <nlsq/ceres.hpp>
#include <nlsq/problem.hpp>

#include <sliding_window.hpp>

#include <ceres/ceres.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace bench {

namespace {

using sliding_window::Motion;
using sliding_window::Sight;

constexpr double kTolerance = 1e-8;  // relative decrease of the cost

struct Ours {
  nlsq::Problem problem;
  nlsq::SolverOptions options;
  int steps = 0;

  Ours() {
    options.threads = 1;
    options.ftol = kTolerance;
    options.initial_lambda = 1e-4;  // as in Ceres
  }
  void add_pose(double* pose) { problem.add_parameter_block(pose, 6); }
  void add_point(double* point) { problem.add_parameter_block(point, 3); }
  void add(const Sight& sight, double* pose, double* point) {
    problem.add_residual_block(sight, nullptr, {pose, point});
  }
  void add(const Motion& motion, double* a, double* b) {
    problem.add_residual_block(motion, nullptr, {a, b});
  }
  void remove(double* block) { problem.remove_parameter_block(block); }
  void hold(double* pose) { problem.set_constant(pose); }
  double solve() {
    const nlsq::Summary summary = nlsq::solve(problem, options);
    steps += summary.accepted + summary.rejected;
    return summary.final_cost;
  }
};

ceres::Problem::Options fast_removal() {
  ceres::Problem::Options options;
  options.enable_fast_removal = true;
  return options;
}

// Builds the same ceres::Problem for both solvers, with cost functions of nlsq's class or of Ceres's own.
template <template <class, int, int...> class AutoDiff, bool ours>
struct Theirs {
  ceres::Problem problem{fast_removal()};
  ceres::Solver::Options options;
  int steps = 0;

  explicit Theirs(ceres::LinearSolverType solver) {
    options.linear_solver_type = solver;
    options.function_tolerance = kTolerance;
    options.num_threads = 1;
    options.logging_type = ceres::SILENT;
  }
  void add_pose(double* pose) { problem.AddParameterBlock(pose, 6); }
  void add_point(double* point) { problem.AddParameterBlock(point, 3); }
  void add(const Sight& sight, double* pose, double* point) {
    problem.AddResidualBlock(new AutoDiff<Sight, 2, 6, 3>(new Sight(sight)), nullptr, pose, point);
  }
  void add(const Motion& motion, double* a, double* b) {
    problem.AddResidualBlock(new AutoDiff<Motion, 6, 6, 6>(new Motion(motion)), nullptr, a, b);
  }
  void remove(double* block) { problem.RemoveParameterBlock(block); }
  void hold(double* pose) { problem.SetParameterBlockConstant(pose); }
  double solve() {
    ceres::Solver::Summary summary;
    if constexpr (ours) nlsq::Solve(options, &problem, &summary);
    else ceres::Solve(options, &problem, &summary);
    steps += static_cast<int>(summary.iterations.size()) - 1;
    return summary.final_cost;
  }
};

template <class Functor, int residuals, int... sizes>
using PlainAutoDiff = ceres::AutoDiffCostFunction<Functor, residuals, sizes...>;
template <class Functor, int residuals, int... sizes>
using OurAutoDiff = nlsq::AutoDiffCostFunction<Functor, residuals, sizes...>;

}  // namespace

void run_window(const Settings& settings) {
  settings.report->begin_suite("window",
                               "ten poses, 210 points, 2,000 residuals, solved again as blocks come and go; "
                               "one thread, to a relative decrease of 1e-8, set-up\n"
                               "and removals included; goal: half the time of Ceres's better solver");
  const sliding_window::Drive drive =
      sliding_window::drive(sliding_window::kWindow - 1 + (settings.quick ? 20 : 60), 1);
  const std::size_t windows = static_cast<std::size_t>(drive.frames - sliding_window::kWindow + 1);
  std::vector<int> steps(4, 0);
  const auto contender = [&](std::size_t number, const char* name, auto make) {
    return Contender{name, [&steps, &drive, number, make] {
                       auto estimator = make();
                       std::vector<double> costs = slide(drive, *estimator);
                       steps[number] = estimator->steps;
                       return costs;
                     }};
  };
  using Plain = Theirs<PlainAutoDiff, false>;
  using Mixed = Theirs<OurAutoDiff, true>;
  const std::vector<Contender> contenders = {
      contender(0, "nlsq", [] { return std::make_unique<Ours>(); }),
      contender(1, "nlsq::Solve", [] { return std::make_unique<Mixed>(ceres::DENSE_SCHUR); }),
      contender(2, "Ceres DENSE_SCHUR", [] { return std::make_unique<Plain>(ceres::DENSE_SCHUR); }),
      contender(3, "Ceres SPARSE_SCHUR", [] { return std::make_unique<Plain>(ceres::SPARSE_SCHUR); })};
  const std::vector<Measured> measured = measure(contenders, settings);
  const double best = std::min(measured[2].seconds, measured[3].seconds);
  for (std::size_t mine = 0; mine < 2; ++mine) {
    for (std::size_t k = 2; k < 4; ++k) {
      Row row;
      row.suite = "window";
      row.name = fmt::format("{} windows, {}", windows, contenders[mine].name);
      row.ours_s = measured[mine].seconds;
      row.peer = contenders[k].name;
      row.peer_s = measured[k].seconds;
      row.max_rel_diff = largest_difference(measured[mine].result, measured[k].result);
      for (std::size_t i = 0; i < windows; ++i)
        row.sound = row.sound && measured[mine].result[i] <= measured[k].result[i] * (1 + 1e-6);
      row.note = fmt::format("{} steps, Ceres {}; difference: of the costs", steps[mine], steps[k]);
      settings.report->add(row);
    }
    settings.report->goal({"window",
                           fmt::format("{}: time of Ceres's better solver over ours", contenders[mine].name),
                           best / measured[mine].seconds, Asked::at_least, 2, "x"});
  }
}

}  // namespace bench

#else

namespace bench {
void run_window(const Settings& settings) {
  settings.report->begin_suite("window", "built without Ceres: nothing to compare");
}
}  // namespace bench

#endif
