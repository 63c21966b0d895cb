// Implements bal_run(): bundle adjustment by nlsq::Problem, by Ceres and by nlsq::Solve.
#include "bal_ways.hpp"

#include "peers/peers.hpp"

#include <nlsq/problem.hpp>
#if NLSQ_BENCH_CERES_ENTRY
#include <nlsq/ceres.hpp>
#endif

#if NLSQ_BENCH_CERES
#include <ceres/ceres.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace bench {

namespace {

constexpr int kIterations = 50;    // iteration limit of Ceres
constexpr double kPatience = 180;  // time limit of each solver in seconds

// Records the trace of costs.
class Watch {
 public:
  explicit Watch(BalTrace& trace) : trace_(trace) {}
  void see(double cost) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    if (trace_.empty() || cost < trace_.back().second) trace_.emplace_back(spent.count(), cost);
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  BalTrace& trace_;
};

BalRun by_problem(bal::Problem& scene, int threads, double target, const char* policy,
                  nlsq::StepSolver steps) {
  BalRun run;
  Watch watch(run.trace);
  nlsq::Problem problem;
  for (int c = 0; c < scene.cameras; ++c) problem.add_parameter_block(scene.camera(c), 9);
  for (int p = 0; p < scene.points; ++p) problem.add_parameter_block(scene.point(p), 3);
  for (const bal::Observation& o : scene.observations) {
    problem.add_residual_block<2>(bal::Reprojection{o.x, o.y}, nullptr,
                                  {scene.camera(o.camera), scene.point(o.point)});
  }
  nlsq::SolverOptions options;
  options.threads = threads;
  options.precision = nlsq::PrecisionPolicy::parse(policy);
  options.step_solver = steps;
  options.max_iterations = 4 * kIterations;
  options.max_seconds = kPatience;
  options.callback = [&](const nlsq::IterationSummary& it) {
    watch.see(it.cost);
    return it.cost <= target ? nlsq::Stop : nlsq::Continue;
  };
  const nlsq::Summary summary = nlsq::solve(problem, options);
  watch.see(summary.final_cost);
  run.cost = summary.final_cost;
  run.iterations = summary.accepted + summary.rejected;
  run.evaluator = summary.evaluator;
  run.steps =
      summary.step_solver +
      (summary.linear_iterations > 0 ? fmt::format(" ({} iterations)", summary.linear_iterations) : "");
  run.f32_blocks = summary.precision.counters.rows_f32;
  run.counted = summary.peak_bytes;
  return run;
}

#if NLSQ_BENCH_CERES
struct Observer final : ceres::IterationCallback {
  Watch& watch;
  double target;
  Observer(Watch& w, double t) : watch(w), target(t) {}
  ceres::CallbackReturnType operator()(const ceres::IterationSummary& s) override {
    watch.see(s.cost);
    return s.cost <= target ? ceres::SOLVER_TERMINATE_SUCCESSFULLY : ceres::SOLVER_CONTINUE;
  }
};

ceres::Solver::Options ceres_options(int threads, Observer& observer) {
  ceres::Solver::Options options;
  options.max_num_iterations = kIterations;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-16;
  options.num_threads = threads;
  options.logging_type = ceres::SILENT;
  options.callbacks.push_back(&observer);
  return options;
}

template <template <class, int, int...> class Cost>
void add_blocks(ceres::Problem& problem, bal::Problem& scene) {
  for (const bal::Observation& o : scene.observations) {
    auto* cost = new Cost<bal::Reprojection, 2, 9, 3>(new bal::Reprojection{o.x, o.y});
    problem.AddResidualBlock(cost, nullptr, scene.camera(o.camera), scene.point(o.point));
  }
}

BalRun by_ceres(bal::Problem& scene, int threads, double target, ceres::LinearSolverType solver) {
  BalRun run;
  Watch watch(run.trace);
  ceres::Problem problem;
  add_blocks<ceres::AutoDiffCostFunction>(problem, scene);
  Observer observer(watch, target);
  ceres::Solver::Options options = ceres_options(threads, observer);
  options.linear_solver_type = solver;
  if (solver == ceres::ITERATIVE_SCHUR) options.preconditioner_type = ceres::SCHUR_JACOBI;
  options.max_solver_time_in_seconds = kPatience;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  run.cost = summary.final_cost;
  run.iterations = static_cast<int>(summary.iterations.size()) - 1;
  return run;
}
#endif

#if NLSQ_BENCH_CERES_ENTRY
// Runs the Ceres program with one line changed, with cost functions of nlsq's class or of Ceres's own.
BalRun by_entry(bal::Problem& scene, int threads, double target, bool own_class) {
  BalRun run;
  Watch watch(run.trace);
  ceres::Problem problem;
  if (own_class) add_blocks<nlsq::AutoDiffCostFunction>(problem, scene);
  else add_blocks<ceres::AutoDiffCostFunction>(problem, scene);
  Observer observer(watch, target);
  ceres::Solver::Options options = ceres_options(threads, observer);
  options.max_num_iterations = 4 * kIterations;
  nlsq::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  run.cost = summary.final_cost;
  run.iterations = summary.accepted + summary.rejected;
  run.evaluator = summary.evaluator;
  run.steps = summary.step_solver;
  run.counted = summary.peak_bytes;
  return run;
}
#endif

struct Way {
  const char* name;
  BalRun (*run)(bal::Problem& scene, int threads, double target);
};

constexpr Way kWays[] = {
    {"nlsq", [](bal::Problem& s, int n,
                double target) { return by_problem(s, n, target, "auto", nlsq::StepSolver::automatic); }},
    {"nlsq f64", [](bal::Problem& s, int n,
                    double target) { return by_problem(s, n, target, "f64", nlsq::StepSolver::automatic); }},
    {"nlsq factored",
     [](bal::Problem& s, int n, double target) {
       return by_problem(s, n, target, "auto", nlsq::StepSolver::factored);
     }},
    {"nlsq iterative",
     [](bal::Problem& s, int n, double target) {
       return by_problem(s, n, target, "auto", nlsq::StepSolver::iterative);
     }},
#if NLSQ_BENCH_CERES
    {"Ceres DENSE_SCHUR",
     [](bal::Problem& s, int n, double target) { return by_ceres(s, n, target, ceres::DENSE_SCHUR); }},
    {"Ceres SPARSE_SCHUR",
     [](bal::Problem& s, int n, double target) { return by_ceres(s, n, target, ceres::SPARSE_SCHUR); }},
    {"Ceres ITERATIVE_SCHUR",
     [](bal::Problem& s, int n, double target) { return by_ceres(s, n, target, ceres::ITERATIVE_SCHUR); }},
#endif
#if NLSQ_BENCH_CERES_ENTRY
    {"nlsq::Solve, nlsq's cost functions",
     [](bal::Problem& s, int n, double target) { return by_entry(s, n, target, true); }},
    {"nlsq::Solve, Ceres's cost functions",
     [](bal::Problem& s, int n, double target) { return by_entry(s, n, target, false); }},
#endif
};

}  // namespace

std::vector<std::string> bal_ways() {
  std::vector<std::string> names;
  for (const Way& way : kWays) names.emplace_back(way.name);
  return names;
}

bool is_ceres_way(const std::string& way) { return way.starts_with("Ceres"); }

BalRun bal_run(const std::string& way, bal::Problem& scene, int threads, double target) {
  silence_ceres();
  const auto known = std::ranges::find(kWays, way, &Way::name);
  if (known == std::end(kWays))
    throw std::runtime_error(fmt::format("no way of adjusting bundles is called '{}'", way));
  return known->run(scene, threads, target);
}

}  // namespace bench
