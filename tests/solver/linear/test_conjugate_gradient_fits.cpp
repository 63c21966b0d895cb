// Compares whole problems solved by conjugate gradients with those solved by the factor.

#include "blocks/prepared_problem.hpp"
#include "linear/conjugate_gradients.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>
#include <nlsq/problem_control.hpp>

#include <doctest/doctest.h>
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/QR>

#include <cmath>
#include <string>
#include <vector>

#include "bal_blocks.hpp"

#include "gradient_fits.hpp"

using namespace nlsq;
using bal_blocks::add_all;
using namespace gradient_fits;

namespace {

Summary solve_scene(bal::Problem& scene, const SolverOptions& options) {
  Problem problem;
  add_all(problem, scene);
  return solve(problem, options);
}

struct Link {
  double step;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = b[0] - a[0] - step;
    r[1] = b[1] * b[1] - a[1] - 0.1 * step;
    return true;
  }
};

struct Anchor {
  template <class T>
  bool operator()(const T* a, T* r) const {
    r[0] = a[0] - 1.0;
    r[1] = a[1] - 0.5;
    return true;
  }
};

}  // namespace

TEST_CASE("Both ways end in one minimum of a bundle adjustment, and the summary says how") {
  bal::Problem start = bal::generate(15, 300, 1800, 2), factored = start, iterative = start;
  const Summary direct = solve_scene(factored, by(StepSolver::factored));
  CHECK(direct.linear_iterations == 0);
  CHECK(direct.step_solver == "a dense factor of 135 unknowns");
  for (const Preconditioner preconditioner : {Preconditioner::jacobi, Preconditioner::schur_jacobi}) {
    for (const char* policy : {"auto", "f64"}) {
      iterative = start;
      SolverOptions options = by(StepSolver::iterative, policy);
      options.preconditioner = preconditioner;
      const Summary summary = solve_scene(iterative, options);
      CAPTURE(policy);
      CHECK(summary.final_cost == doctest::Approx(direct.final_cost).epsilon(1e-9));
      CHECK(summary.termination == Termination::converged);
      // Seven directions are a gauge, so the verdict is never CONVERGED, and the rank is not examined.
      CHECK(summary.verdict == Verdict::tolerance);
      CHECK(summary.certificate.passed);
      CHECK(summary.certificate.rank == -1);
      CHECK(summary.message.find("rank not examined") != std::string::npos);
      CHECK(summary.step_solver.starts_with("conjugate gradients on 135 unknowns"));
      int steps = 0;
      for (const IterationSummary& it : summary.iterations) {
        if (it.outcome != StepOutcome::escalated) CHECK(it.linear_iterations > 0);
        steps += it.linear_iterations;
      }
      CHECK(summary.linear_iterations >= steps);
      CHECK(summary.trace_report().find("conjugate gradients") != std::string::npos);
    }
  }
}

TEST_CASE("Conjugate gradients give the same bits on any number of threads") {
  const bal::Problem start = bal::generate(40, 3000, 18000, 2, 0.5, 0.01, true);
  bal::Problem one = start;
  SolverOptions options = by(StepSolver::iterative);
  options.max_iterations = 8;
  const Summary first = solve_scene(one, options);
  for (const int threads : {2, 3, 8}) {
    bal::Problem other = start;
    options.threads = threads;
    const Summary summary = solve_scene(other, options);
    CAPTURE(threads);
    CHECK(other.parameters == one.parameters);
    CHECK(summary.linear_iterations == first.linear_iterations);
    CHECK(summary.final_cost == first.final_cost);
  }
}

TEST_CASE("If conjugate gradients reach their limit, steps still lower the cost and nothing is certified") {
  bal::Problem scene = bal::generate(30, 400, 1200, 6);  // a ring of narrow views, which is ill-conditioned
  SolverOptions options = by(StepSolver::iterative);
  options.preconditioner = Preconditioner::jacobi;
  options.max_linear_iterations = 3;
  options.max_iterations = 60;
  const Summary summary = solve_scene(scene, options);
  CHECK(summary.final_cost < 0.5 * summary.initial_cost);
  CHECK(summary.verdict != Verdict::converged);
  CHECK(summary.verdict != Verdict::rank_deficient);
  CHECK_FALSE(summary.certificate.passed);
  for (const IterationSummary& it : summary.iterations) CHECK(it.linear_iterations <= 16);
  for (const double v : scene.parameters) REQUIRE(std::isfinite(v));
}

TEST_CASE("A problem without points is solved by conjugate gradients too, and bounds hold") {
  const auto run = [](StepSolver how, std::vector<double>& x) {
    x.assign(2 * 50, 0.7);
    Problem problem;
    problem.add_residual_block<2>(Anchor{}, nullptr, {two(x, 0)});
    for (std::size_t k = 0; k + 1 < 50; ++k) {
      problem.add_residual_block<2>(Link{0.1 + 0.01 * static_cast<double>(k % 7)}, nullptr,
                                    {two(x, k), two(x, k + 1)});
    }
    problem.set_upper_bound(&x[20], 0, 1.05);
    return solve(problem, by(how));
  };
  std::vector<double> factored, iterative;
  const Summary direct = run(StepSolver::factored, factored), summary = run(StepSolver::iterative, iterative);
  CHECK(summary.linear_iterations > 0);
  CHECK(summary.final_cost == doctest::Approx(direct.final_cost).epsilon(1e-8));
  CHECK(iterative[20] <= 1.05);
  for (std::size_t i = 0; i < factored.size(); ++i)
    CHECK(iterative[i] == doctest::Approx(factored[i]).epsilon(1e-5));
}

TEST_CASE(
    "Steps are factored where nothing is said and a factor is cheap, and by iteration where S would be large "
    "and full") {
  bal::Problem small = bal::generate(12, 150, 700, 4);
  SolverOptions options;
  options.max_iterations = 1;
  CHECK(solve_scene(small, options).linear_iterations == 0);
  // 1,200 cameras see points with each other everywhere, so S would have 10,800 unknowns and most of its
  // blocks.
  bal::Problem full = bal::generate(1200, 12000, 120000, 1, 0.5, 0.01, true),
               banded = bal::generate(1200, 12000, 120000, 1);
  CHECK(solve_scene(full, options).step_solver.starts_with("conjugate gradients on 10800"));
  CHECK(solve_scene(banded, options).step_solver == "a sparse factor of 10800 unknowns");
}

TEST_CASE("A factor of some hundred unknowns is sparse where that takes fewer operations") {
  // Each block is linked to the next `links` blocks.
  const auto solver_of = [](std::size_t blocks, std::size_t links) {
    std::vector<double> x(2 * blocks, 0.7);
    Problem problem;
    problem.add_residual_block<2>(Anchor{}, nullptr, {two(x, 0)});
    for (std::size_t k = 0; k < blocks; ++k) {
      for (std::size_t far = 1; far <= links && k + far < blocks; ++far)
        problem.add_residual_block<2>(Link{0.1}, nullptr, {two(x, k), two(x, k + far)});
    }
    return solve(problem, by(StepSolver::factored)).step_solver;
  };
  CHECK(solver_of(40, 1) == "a dense factor of 80 unknowns");
  CHECK(solver_of(60, 1) == "a sparse factor of 120 unknowns");
  CHECK(solver_of(60, 59) == "a dense factor of 120 unknowns");
  CHECK(solver_of(250, 2) == "a sparse factor of 500 unknowns");
}

TEST_CASE("Options of conjugate gradients are checked, and refused where there are no blocks") {
  Problem problem;
  double x[1] = {1};
  problem.add_residual_block<1>(
      [](const auto* p, auto* r) {
        r[0] = p[0] - 2.0;
        return true;
      },
      nullptr, {x});
  SolverOptions options;
  options.eta = 0;
  CHECK_THROWS_AS(solve(problem, options), ValidationError);
  options.eta = 0.1;
  options.max_linear_iterations = 0;
  CHECK_THROWS_AS(solve(problem, options), ValidationError);
  FitOptions fit;
  fit.step_solver = StepSolver::iterative;
  const std::vector<double> t{1, 2, 3}, y{1, 2, 3};
  CHECK_THROWS_AS(curve_fit("a*x", t, y, {{"a", 1}}, fit), ValidationError);
}

TEST_CASE("Geodesic acceleration that is asked for goes through conjugate gradients") {
  bal::Problem start = bal::generate(10, 120, 600, 3), plain = start, bent = start;
  SolverOptions options = by(StepSolver::iterative, "f64");
  const Summary without = solve_scene(plain, options);
  options.geodesic = Geodesic::always;
  const Summary with = solve_scene(bent, options);
  CHECK(with.final_cost == doctest::Approx(without.final_cost).epsilon(1e-9));
  CHECK(with.linear_iterations > 0);
}
