// Tests callbacks, progress, limits and threads of nlsq::Solve.
#include "ceres_problems.hpp"

#include <bal.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <bit>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using ceres_problems::cost, ceres_problems::tight;

namespace {

struct Rosenbrock {
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 10.0 * (x[1] - x[0] * x[0]);
    r[1] = 1.0 - x[0];
    return true;
  }
};

struct Watch final : ceres::IterationCallback {
  const double* x = nullptr;
  int answer_at = -1;
  ceres::CallbackReturnType answer = ceres::SOLVER_CONTINUE;
  std::vector<ceres::IterationSummary> seen;
  std::vector<double> values;

  ceres::CallbackReturnType operator()(const ceres::IterationSummary& s) override {
    seen.push_back(s);
    values.push_back(x[0]);
    return s.iteration == answer_at ? answer : ceres::SOLVER_CONTINUE;
  }
};

struct Run {
  double x[2] = {-1.2, 1};
  Watch watch;
  ceres::Solver::Summary summary;

  explicit Run(int at = -1, ceres::CallbackReturnType answer = ceres::SOLVER_CONTINUE, bool update = false) {
    watch.x = x;
    watch.answer_at = at;
    watch.answer = answer;
    ceres::Problem problem;
    problem.AddResidualBlock(cost<true, Rosenbrock, 2, 2>({}), nullptr, x);
    ceres::Solver::Options options = tight();
    options.callbacks.push_back(&watch);
    options.update_state_every_iteration = update;
    nlsq::Solve(options, &problem, &summary);
  }
};

struct Shared final : ceres::EvaluationCallback {
  const double* x = nullptr;
  double squared = -1;
  int prepared = 0, fresh = 0, with_derivatives = 0;
  void PrepareForEvaluation(bool derivatives, bool new_point) override {
    ++prepared;
    fresh += new_point;
    with_derivatives += derivatives;
    squared = x[0] * x[0];
  }
};

// Rosenbrock's function, with a term that the callback has prepared.
struct Prepared final : ceres::SizedCostFunction<2, 2> {
  const Shared* shared;
  explicit Prepared(const Shared* s) : shared(s) {}
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    r[0] = 10 * (x[0][1] - shared->squared);
    r[1] = 1 - x[0][0];
    if (J != nullptr && J[0] != nullptr) J[0][0] = -20 * x[0][0], J[0][1] = 10, J[0][2] = -1, J[0][3] = 0;
    return true;
  }
};

// This is a functor that would be recorded, but whose values also depend on the callback.
struct Functor {
  const Shared* shared;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 10.0 * (x[1] - (shared->squared + 2.0 * std::sqrt(shared->squared) * (x[0] - x[0])));
    r[1] = 1.0 - x[0];
    return true;
  }
};

// Returns what `work` writes to stdout.
template <class F>
std::string captured(F work) {
  std::fflush(stdout);
  const int kept = dup(1);
  std::FILE* file = std::tmpfile();
  dup2(fileno(file), 1);
  work();
  std::fflush(stdout);
  dup2(kept, 1);
  close(kept);
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("Iteration callbacks see each step, in order, with its numbers") {
  const Run run;
  CHECK(run.summary.termination_type == ceres::CONVERGENCE);
  CHECK(run.x[0] == doctest::Approx(1));
  REQUIRE(run.watch.seen.size() == run.summary.iterations.size());
  REQUIRE(run.watch.seen.size() ==
          static_cast<std::size_t>(run.summary.num_successful_steps + run.summary.num_unsuccessful_steps));
  CHECK(run.watch.seen[0].iteration == 0);
  CHECK(run.watch.seen[0].cost == doctest::Approx(run.summary.initial_cost));
  CHECK(run.watch.seen[0].gradient_max_norm > 100);
  double best = run.watch.seen[0].cost;
  for (std::size_t i = 1; i < run.watch.seen.size(); ++i) {
    const ceres::IterationSummary& s = run.watch.seen[i];
    CHECK(s.iteration == static_cast<int>(i));
    CHECK(s.step_norm > 0);
    CHECK(s.trust_region_radius > 0);
    CHECK(s.cost_change == doctest::Approx(best - s.cost).epsilon(1e-9));
    CHECK(s.step_is_successful == (s.relative_decrease > 1e-3));
    if (s.step_is_successful) best = s.cost;
  }
  CHECK(run.watch.seen.back().gradient_max_norm < 1e-3);
}

TEST_CASE("Parameter blocks change under a callback only when it was asked for") {
  const Run still, moving(-1, ceres::SOLVER_CONTINUE, true);
  for (const double v : still.watch.values) CHECK(v == -1.2);
  CHECK(moving.watch.values.front() == -1.2);
  CHECK(moving.watch.values.back() == doctest::Approx(1));
}

TEST_CASE("SOLVER_ABORT leaves the start, SOLVER_TERMINATE_SUCCESSFULLY the best point") {
  for (const bool update : {false, true}) {
    const Run abort(3, ceres::SOLVER_ABORT, update);
    CHECK(abort.summary.termination_type == ceres::USER_FAILURE);
    CHECK_FALSE(abort.summary.IsSolutionUsable());
    CHECK(abort.x[0] == -1.2);
    CHECK(abort.x[1] == 1);
    CHECK(abort.watch.seen.size() == 4);
  }
  const Run stop(12, ceres::SOLVER_TERMINATE_SUCCESSFULLY);
  CHECK(stop.summary.termination_type == ceres::USER_SUCCESS);
  CHECK(stop.summary.IsSolutionUsable());
  CHECK(stop.x[0] != -1.2);
  CHECK(stop.summary.final_cost < stop.summary.initial_cost);
  CHECK(stop.watch.seen.size() == 13);
}

TEST_CASE("The answer of a callback counts, too, where the solve could have ended as converged") {
  const int last = static_cast<int>(Run().watch.seen.size()) - 1;
  REQUIRE(last > 2);
  const Run aborted(last, ceres::SOLVER_ABORT);
  CHECK(aborted.summary.termination_type == ceres::USER_FAILURE);
  CHECK(aborted.x[0] == -1.2);
  CHECK(aborted.x[1] == 1);
  const Run ended(last, ceres::SOLVER_TERMINATE_SUCCESSFULLY);
  CHECK(ended.summary.termination_type == ceres::USER_SUCCESS);
  CHECK(ended.x[0] == doctest::Approx(1));
}

TEST_CASE("minimizer_progress_to_stdout prints a line an iteration, and nothing else ever prints") {
  const auto solve = [](bool progress, ceres::LoggingType type) {
    double x[2] = {-1.2, 1};
    ceres::Problem problem;
    problem.AddResidualBlock(cost<true, Rosenbrock, 2, 2>({}), nullptr, x);
    ceres::Solver::Options options;
    options.minimizer_progress_to_stdout = progress;
    options.logging_type = type;
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    return summary.iterations.size();
  };
  std::size_t steps = 0;
  const std::string shown = captured([&] { steps = solve(true, ceres::PER_MINIMIZER_ITERATION); });
  CHECK(static_cast<std::size_t>(std::count(shown.begin(), shown.end(), '\n')) == steps + 1);
  CHECK(shown.find("iter") != std::string::npos);
  CHECK(captured([&] { solve(false, ceres::PER_MINIMIZER_ITERATION); }).empty());
  CHECK(captured([&] { solve(true, ceres::SILENT); }).empty());
}

TEST_CASE("An evaluation callback prepares each new point before functions are called there") {
  for (const bool recorded : {false, true}) {
    double x[2] = {-1.2, 1};
    Shared shared;
    shared.x = x;
    ceres::Problem::Options choice;
    choice.evaluation_callback = &shared;
    ceres::Problem problem(choice);
    if (recorded) problem.AddResidualBlock(cost<true, Functor, 2, 2>({&shared}), nullptr, x);
    else problem.AddResidualBlock(new Prepared(&shared), nullptr, x);
    ceres::Solver::Summary summary;
    nlsq::Solve(tight(), &problem, &summary);
    CHECK(shared.prepared > 0);
    CHECK(shared.with_derivatives > 0);
    CHECK(shared.squared == doctest::Approx(x[0] * x[0]));
    if (!recorded) {
      CHECK(x[0] == doctest::Approx(1).epsilon(1e-8));
      CHECK(x[1] == doctest::Approx(1).epsilon(1e-8));
    } else {
      double true_cost = 0;
      problem.Evaluate({}, &true_cost, nullptr, nullptr, nullptr);
      CHECK(summary.final_cost == true_cost);
      CHECK(summary.final_cost <= summary.initial_cost);
    }
  }
}

// Once every such solve ended with "the residual functions do not repeat".
TEST_CASE("An iteration callback may evaluate the problem that an evaluation callback prepares") {
  struct Evaluates final : ceres::IterationCallback {
    ceres::Problem* problem = nullptr;
    ceres::CallbackReturnType operator()(const ceres::IterationSummary&) override {
      double value = 0;
      problem->Evaluate({}, &value, nullptr, nullptr, nullptr);
      return ceres::SOLVER_CONTINUE;
    }
  };
  double x[2] = {-1.2, 1};
  Shared shared;
  shared.x = x;
  ceres::Problem::Options choice;
  choice.evaluation_callback = &shared;
  ceres::Problem problem(choice);
  problem.AddResidualBlock(new Prepared(&shared), nullptr, x);
  Evaluates evaluates;
  evaluates.problem = &problem;
  ceres::Solver::Options options = tight();
  options.callbacks.push_back(&evaluates);
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  CAPTURE(summary.message);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(x[1] == doctest::Approx(1).epsilon(1e-8));
}

TEST_CASE("check_gradients calls functions after the evaluation callback has prepared the start") {
  struct Cost final : ceres::SizedCostFunction<1, 1> {
    const Shared* shared;
    explicit Cost(const Shared* s) : shared(s) {}
    bool Evaluate(double const* const* x, double* r, double** J) const override {
      if (shared->prepared == 0) return false;
      r[0] = x[0][0] - 3;
      if (J != nullptr && J[0] != nullptr) J[0][0] = 1;
      return true;
    }
  };
  double x = 1;
  Shared shared;
  shared.x = &x;
  ceres::Problem::Options choice;
  choice.evaluation_callback = &shared;
  ceres::Problem problem(choice);
  problem.AddResidualBlock(new Cost(&shared), nullptr, &x);
  ceres::Solver::Options options = tight();
  options.check_gradients = true;
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(x == doctest::Approx(3));
}

TEST_CASE("One thread is the caller's own; with more the bits are the same") {
  const auto solve = [](bool ours, int threads, bool& elsewhere) {
    bal::Problem scene = bal::generate(8, 300, 1800, 3);
    struct Function final : ceres::CostFunction {
      std::unique_ptr<ceres::CostFunction> inner;
      std::thread::id home;
      std::atomic<bool>* elsewhere;
      Function(ceres::CostFunction* f, std::atomic<bool>* e)
          : inner(f), home(std::this_thread::get_id()), elsewhere(e) {
        set_num_residuals(2);
        *mutable_parameter_block_sizes() = {9, 3};
      }
      bool Evaluate(double const* const* p, double* r, double** J) const override {
        if (std::this_thread::get_id() != home) *elsewhere = true;
        return inner->Evaluate(p, r, J);
      }
    };
    std::atomic<bool> other{false};
    ceres::Problem problem;
    for (const bal::Observation& o : scene.observations) {
      ceres::CostFunction* f = cost<true, bal::Reprojection, 2, 9, 3>({o.x, o.y});
      problem.AddResidualBlock(ours ? f : new Function(f, &other), nullptr, scene.camera(o.camera),
                               scene.point(o.point));
    }
    ceres::Solver::Options options;
    options.num_threads = threads;
    options.max_num_iterations = 8;
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    CHECK(summary.num_threads_used == threads);
    elsewhere = other;
    return scene.parameters;
  };
  for (const bool ours : {true, false}) {
    bool elsewhere = false;
    const auto one = solve(ours, 1, elsewhere);
    CHECK_FALSE(elsewhere);
    for (const int threads : {2, 3, 4}) {
      const auto many = solve(ours, threads, elsewhere);
      bool same = true;
      for (std::size_t i = 0; i < one.size(); ++i)
        same = same && std::bit_cast<std::uint64_t>(one[i]) == std::bit_cast<std::uint64_t>(many[i]);
      CHECK(same);
    }
  }
}
