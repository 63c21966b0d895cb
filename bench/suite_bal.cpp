// Bundle adjustment from one start to one cost: nlsq::Problem beside Ceres on the same functor.
#include "suites.hpp"

#include <bal.hpp>

#include <nlsq/problem.hpp>
#if NLSQ_BENCH_CERES_ENTRY
#include <nlsq/ceres.hpp>
#endif

#if NLSQ_BENCH_CERES
#include <ceres/ceres.h>
#if __has_include(<glog/logging.h>)
#include <glog/logging.h>
#endif
#endif

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

constexpr int kIterations = 50;
constexpr double kSlack = 1e-9;  // of the cost to be reached

// The whole work: a problem from observations, solved until the cost is reached. Returns the cost.
struct Ours {
  const bal::Problem& scene;
  const char* policy;
  int threads;
  double target;
  std::size_t f32_blocks = 0, slow_blocks = 0, bytes = 0;
  int iterations = 0;

  double run() {
    bal::Problem mine = scene;
    nlsq::Problem problem;
    for (int c = 0; c < mine.cameras; ++c) problem.add_parameter_block(mine.camera(c), 9);
    for (int p = 0; p < mine.points; ++p) problem.add_parameter_block(mine.point(p), 3);
    for (const bal::Observation& o : mine.observations) {
      problem.add_residual_block<2>(bal::Reprojection{o.x, o.y}, nullptr, {mine.camera(o.camera), mine.point(o.point)});
    }
    nlsq::SolverOptions options;
    options.threads = threads;
    options.precision = nlsq::PrecisionPolicy::parse(policy);
    options.max_iterations = 4 * kIterations;
    options.callback = [this](const nlsq::IterationSummary& it) { return it.cost <= target ? nlsq::Stop : nlsq::Continue; };
    const nlsq::Summary summary = nlsq::solve(problem, options);
    f32_blocks = summary.precision.counters.rows_f32;
    slow_blocks = summary.evaluator == "graph" ? 0 : scene.observations.size();
    bytes = summary.peak_bytes;
    iterations = summary.accepted + summary.rejected;
    return summary.final_cost;
  }
};

#if NLSQ_BENCH_CERES
double run_ceres(const bal::Problem& scene, ceres::LinearSolverType solver, int threads) {
  bal::Problem mine = scene;
  ceres::Problem problem;
  for (const bal::Observation& o : mine.observations) {
    auto* cost = new ceres::AutoDiffCostFunction<bal::Reprojection, 2, 9, 3>(new bal::Reprojection{o.x, o.y});
    problem.AddResidualBlock(cost, nullptr, mine.camera(o.camera), mine.point(o.point));
  }
  ceres::Solver::Options options;
  options.linear_solver_type = solver;
  options.max_num_iterations = kIterations;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-16;
  options.num_threads = threads;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return summary.final_cost;
}
#endif

#if NLSQ_BENCH_CERES_ENTRY
// The Ceres program with one line changed: cost functions by nlsq's class, or by Ceres's own.
struct Entry {
  const bal::Problem& scene;
  int threads;
  double target;
  bool own_class;
  std::string evaluator{};

  struct Reached final : ceres::IterationCallback {
    double target;
    explicit Reached(double t) : target(t) {}
    ceres::CallbackReturnType operator()(const ceres::IterationSummary& s) override {
      return s.cost <= target ? ceres::SOLVER_TERMINATE_SUCCESSFULLY : ceres::SOLVER_CONTINUE;
    }
  };

  double run() {
    bal::Problem mine = scene;
    ceres::Problem problem;
    for (const bal::Observation& o : mine.observations) {
      auto* functor = new bal::Reprojection{o.x, o.y};
      ceres::CostFunction* cost = nullptr;
      if (own_class) cost = new nlsq::AutoDiffCostFunction<bal::Reprojection, 2, 9, 3>(functor);
      else cost = new ceres::AutoDiffCostFunction<bal::Reprojection, 2, 9, 3>(functor);
      problem.AddResidualBlock(cost, nullptr, mine.camera(o.camera), mine.point(o.point));
    }
    Reached reached(target);
    ceres::Solver::Options options;
    options.max_num_iterations = 4 * kIterations;
    options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-16;
    options.num_threads = threads;
    options.callbacks.push_back(&reached);
    nlsq::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    evaluator = summary.evaluator;
    return summary.final_cost;
  }
};
#endif

void compare(const std::string& name, const bal::Problem& scene, int threads, const Settings& settings) {
  double target = 0;
#if NLSQ_BENCH_CERES
  target = run_ceres(scene, ceres::DENSE_SCHUR, threads) * (1 + kSlack);
#else
  Ours reference{scene, "f64", threads, 0};
  target = reference.run() * (1 + kSlack);
#endif
  Ours adaptive{scene, "auto", threads, target}, f64{scene, "f64", threads, target};
  std::vector<Contender> contenders{{"nlsq", [&] { return std::vector{adaptive.run()}; }},
                                    {"nlsq f64", [&] { return std::vector{f64.run()}; }}};
#if NLSQ_BENCH_CERES
  for (const auto& [solver, title] : {std::pair(ceres::DENSE_SCHUR, "Ceres DENSE_SCHUR"), std::pair(ceres::SPARSE_SCHUR, "Ceres SPARSE_SCHUR")}) {
    contenders.push_back({title, [&scene, solver, threads] { return std::vector{run_ceres(scene, solver, threads)}; }});
  }
#endif
#if NLSQ_BENCH_CERES_ENTRY
  Entry recorded{scene, threads, target, true}, evaluated{scene, threads, target, false};
  contenders.push_back({"nlsq::Solve, nlsq's cost functions", [&] { return std::vector{recorded.run()}; }});
  contenders.push_back({"nlsq::Solve, Ceres's cost functions", [&] { return std::vector{evaluated.run()}; }});
#endif
  const std::vector<Measured> measured = measure(contenders, settings);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k < contenders.size(); ++k) {
    Row row;
    row.suite = "bal";
    row.name = fmt::format("{}, {} thread{}", name, threads, threads == 1 ? "" : "s");
    row.ours_s = measured[0].seconds;
    row.peer = contenders[k].name;
    row.peer_s = measured[k].seconds;
    row.max_rel_diff = largest_difference(measured[0].result, measured[k].result);
    row.sound = measured[0].result[0] <= target && adaptive.slow_blocks == 0;
    row.note = fmt::format("{} iterations, f32 evaluated {} blocks, {:.0f} MB; difference: of the cost", adaptive.iterations,
                           adaptive.f32_blocks, 1e-6 * static_cast<double>(adaptive.bytes));
    if (k > 1 && contenders[k].name.starts_with("Ceres")) best = std::min(best, measured[k].seconds);
    settings.report->add(row);
  }
  if (best < std::numeric_limits<double>::infinity()) {
    settings.report->goal({"bal", fmt::format("{}, {} threads: time of Ceres's better solver over ours", name, threads),
                           best / measured[0].seconds, Asked::at_least, 8, "x"});
#if NLSQ_BENCH_CERES_ENTRY
    const std::size_t last = contenders.size() - 1;
    settings.report->goal({"bal", fmt::format("{}, {} threads: Ceres's over nlsq::Solve's with nlsq::AutoDiffCostFunction, all {}", name, threads, recorded.evaluator),
                           best / measured[last - 1].seconds, Asked::at_least, 8, "x"});
    settings.report->goal({"bal", fmt::format("{}, {} threads: Ceres's over nlsq::Solve's with Ceres's own cost functions", name, threads),
                           best / measured[last].seconds, Asked::at_least, 3, "x"});
#endif
  }
}

}  // namespace

void run_bal(const Settings& settings) {
  settings.report->begin_suite("bal", "bundle adjustment from the same start to the cost that Ceres has after 50 iterations, set-up "
                                      "included; goal: 8 times the\nbetter of Ceres's two Schur solvers");
#if NLSQ_BENCH_CERES && __has_include(<glog/logging.h>)
  FLAGS_minloglevel = 3;
#endif
  if (!settings.bal_file.empty()) {
    compare(settings.bal_file.substr(settings.bal_file.find_last_of('/') + 1), bal::read(settings.bal_file), 2, settings);
    return;
  }
  compare("49 cameras, 31843 observations", bal::generate(49, 7776, 31843, 1), 2, settings);
  if (!settings.quick) compare("200 cameras, 200000 observations", bal::generate(200, 50000, 200000, 1), 2, settings);
}

}  // namespace bench
