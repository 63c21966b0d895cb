// Tests Ceres's iterative linear solvers. The solver that is asked for is used where it pays, and the summary
// says which was used.
#include <bal.hpp>

#include <nlsq/ceres.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace {

void add_all(ceres::Problem& problem, bal::Problem& scene) {
  for (const bal::Observation& o : scene.observations) {
    auto* cost = new nlsq::AutoDiffCostFunction<bal::Reprojection, 2, 9, 3>(new bal::Reprojection{o.x, o.y});
    problem.AddResidualBlock(cost, nullptr, scene.camera(o.camera), scene.point(o.point));
  }
}

ceres::Solver::Options with(ceres::LinearSolverType solver, ceres::PreconditionerType preconditioner) {
  ceres::Solver::Options options;
  options.linear_solver_type = solver;
  options.preconditioner_type = preconditioner;
  options.function_tolerance = 1e-12;
  options.max_num_iterations = 100;
  options.logging_type = ceres::SILENT;
  return options;
}

// This is the equation of a potential at a point of a grid.
struct Source {
  double strength;
  template <class T>
  bool operator()(const T* at, const T* left, const T* right, const T* up, const T* down, T* r) const {
    r[0] = 4.0 * at[0] - left[0] - right[0] - up[0] - down[0] - strength;
    return true;
  }
};

struct Reached {
  double cost = 0;
  ceres::Solver::Summary summary;
};

// Each camera sees points with many others, and few with each. So a factorization takes longer than products.
bal::Problem scattered() { return bal::generate(100, 1000, 3000, 4, 0.5, 0.01, true); }

Reached adjust(const ceres::Solver::Options& options, bool theirs = false, bal::Problem scene = scattered()) {
  ceres::Problem problem;
  add_all(problem, scene);
  Reached reached;
  if (theirs) ceres::Solve(options, &problem, &reached.summary);
  else nlsq::Solve(options, &problem, &reached.summary);
  reached.cost = reached.summary.final_cost;
  return reached;
}

}  // namespace

TEST_CASE(
    "ITERATIVE_SCHUR is served by conjugate gradients with the preconditioner asked for, to Ceres's "
    "minimum") {
  for (const ceres::PreconditionerType preconditioner : {ceres::JACOBI, ceres::SCHUR_JACOBI}) {
    const ceres::Solver::Options options = with(ceres::ITERATIVE_SCHUR, preconditioner);
    const Reached ours = adjust(options), theirs = adjust(options, true);
    CHECK(ours.cost == doctest::Approx(theirs.cost).epsilon(1e-6));
    CHECK(ours.summary.linear_solver_type_used == ceres::ITERATIVE_SCHUR);
    CHECK(ours.summary.preconditioner_type_used == preconditioner);
    CHECK(ours.summary.message.find("without a counterpart") == std::string::npos);
    int most = 0;
    for (const ceres::IterationSummary& it : ours.summary.iterations)
      most = std::max(most, it.linear_solver_iterations);
    CHECK(most > 1);
    CHECK(ours.summary.FullReport().find("SCHUR") != std::string::npos);
  }
}

TEST_CASE("For other preconditioners, and for CGNR, the message says what was used instead") {
  const Reached plain = adjust(with(ceres::ITERATIVE_SCHUR, ceres::IDENTITY));
  CHECK(plain.summary.IsSolutionUsable());
  CHECK(plain.summary.preconditioner_type_used == ceres::SCHUR_JACOBI);
  CHECK(plain.summary.message.find("preconditioner_type (SCHUR_JACOBI served)") != std::string::npos);
  const Reached normal = adjust(with(ceres::CGNR, ceres::JACOBI));
  CHECK(normal.summary.IsSolutionUsable());
  CHECK(normal.summary.linear_solver_type_used == ceres::ITERATIVE_SCHUR);
  CHECK(normal.summary.message.find("CGNR (conjugate gradients on the Schur complement served)") !=
        std::string::npos);
  CHECK(normal.cost == doctest::Approx(plain.cost).epsilon(1e-6));
}

TEST_CASE("Ceres's limit and forcing term of conjugate gradients are kept") {
  ceres::Solver::Options options = with(ceres::ITERATIVE_SCHUR, ceres::SCHUR_JACOBI);
  options.max_num_iterations = 5;
  options.max_linear_solver_iterations = 4;
  options.eta = 1e-8;
  for (const ceres::IterationSummary& it : adjust(options).summary.iterations)
    CHECK(it.linear_solver_iterations <= 4);
  options.max_linear_solver_iterations = 500;
  const int far = adjust(options).summary.iterations[1].linear_solver_iterations;
  options.eta = 0.5;
  CHECK(adjust(options).summary.iterations[1].linear_solver_iterations < far);
}

TEST_CASE(
    "A small system is factored whatever is named, where counts of operations say that it takes less, and "
    "the summary says so") {
  for (const ceres::LinearSolverType named : {ceres::ITERATIVE_SCHUR, ceres::CGNR}) {
    const Reached small = adjust(with(named, ceres::SCHUR_JACOBI), false, bal::generate(12, 150, 900, 4));
    const Reached theirs =
        adjust(with(ceres::DENSE_SCHUR, ceres::JACOBI), true, bal::generate(12, 150, 900, 4));
    CHECK(small.summary.linear_solver_type_given == named);
    CHECK(small.summary.linear_solver_type_used == ceres::DENSE_SCHUR);
    CHECK(small.summary.message.find("(a dense factor served: by counts of operations it takes less)") !=
          std::string::npos);
    for (const ceres::IterationSummary& it : small.summary.iterations)
      CHECK(it.linear_solver_iterations <= 1);
    CHECK(small.cost == doctest::Approx(theirs.cost).epsilon(1e-9));
  }
}

// The factor takes a few megabytes. That is many times the size of J, and so it was not used: 144 s for a
// grid of 140 by 140, instead of half a second.
TEST_CASE("a grid is factored whatever is named, although its factor is larger than J") {
  constexpr std::size_t kSide = 60;
  std::vector<double> x(kSide * kSide);
  ceres::Problem problem;
  for (std::size_t i = 1; i + 1 < kSide; ++i) {
    for (std::size_t j = 1; j + 1 < kSide; ++j) {
      double* at = &x[i * kSide + j];
      auto* cost = new nlsq::AutoDiffCostFunction<Source, 1, 1, 1, 1, 1, 1>(new Source{1e-4});
      problem.AddResidualBlock(cost, nullptr, at, at - 1, at + 1, at - kSide, at + kSide);
    }
  }
  for (std::size_t i = 0; i < kSide; ++i) {
    for (double* border : {&x[i], &x[i * kSide], &x[i * kSide + kSide - 1], &x[(kSide - 1) * kSide + i]}) {
      if (problem.HasParameterBlock(border)) problem.SetParameterBlockConstant(border);
    }
  }
  ceres::Solver::Summary summary;
  nlsq::Solve(with(ceres::CGNR, ceres::JACOBI), &problem, &summary);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(summary.linear_solver_type_used == ceres::SPARSE_NORMAL_CHOLESKY);
  CHECK(summary.message.find("a sparse factor served") != std::string::npos);
}

TEST_CASE("A direct solver that is named is used") {
  const Reached direct =
      adjust(with(ceres::SPARSE_SCHUR, ceres::JACOBI), false, bal::generate(12, 150, 900, 4));
  CHECK(direct.summary.linear_solver_type_used == ceres::DENSE_SCHUR);  // it has 108 unknowns
  CHECK(direct.summary.preconditioner_type_used == ceres::IDENTITY);
}
