// Tests steps by conjugate gradients on the Schur complement as an operator, against dense algebra and
// against the factor.
#include "blocks/prepared_problem.hpp"
#include "linear/conjugate_gradients.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>
#include <nlsq/problem_control.hpp>

#include <doctest/doctest.h>
#include <Eigen/Core>

#include <cmath>
#include <random>
#include <vector>

#include "bal_blocks.hpp"
#include "decompositions.hpp"

#include "gradient_fits.hpp"

using namespace nlsq;
using bal_blocks::add_all;
using namespace gradient_fits;

namespace {

// Returns a symmetric matrix with these eigenvalues in random directions.
Eigen::MatrixXd matrix_with(const Eigen::VectorXd& values, unsigned seed) {
  std::mt19937 random(seed);
  Eigen::MatrixXd A(values.size(), values.size());
  for (Eigen::Index i = 0; i < A.size(); ++i)
    A.data()[i] = static_cast<double>(random()) / 4294967296.0 - 0.5;
  const Eigen::MatrixXd Q = decompositions::qr(A).Q;
  return Q * values.asDiagonal() * Q.transpose();
}

CgResult solve(const Eigen::MatrixXd& A, const Eigen::VectorXd& scale, const Eigen::VectorXd& b,
               Eigen::VectorXd& x, const CgGoal& goal) {
  ConjugateGradients gradients;
  x = Eigen::VectorXd::Constant(b.size(), 7);  // this must not matter
  return gradients.solve(
      [&](std::span<const double> in, std::span<double> out) {
        Eigen::Map<Eigen::VectorXd>(out.data(), b.size()) =
            A * Eigen::Map<const Eigen::VectorXd>(in.data(), b.size());
      },
      [&](std::span<const double> in, std::span<double> out) {
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] / scale[static_cast<Eigen::Index>(i)];
      },
      std::span(b.data(), static_cast<std::size_t>(b.size())),
      std::span(x.data(), static_cast<std::size_t>(x.size())), goal);
}

// At most two cameras see each point, and the functor depends on three blocks.
struct Triple {
  static constexpr int residuals = 2;
  double a, b;
  template <class T>
  bool operator()(const T* left, const T* right, const T* point, T* r) const {
    r[0] = left[0] * point[0] - right[1] * point[1] + a;
    r[1] = right[0] + point[0] * point[1] - left[1] * b;
    return true;
  }
};

// Returns a step of the first linear model at the start, by the given way.
template <class R>
BlockStep step_of(Problem& problem, StepSolver how, Preconditioner preconditioner, double lambda,
                  const CgGoal& goal, int threads = 1) {
  Problem::Impl& impl = problem.impl();
  impl.close_gaps();
  Parallelism parallelism;
  parallelism.threads = threads;
  std::vector<double> x = numbers_of(impl), r;
  PreparedProblem prepared(impl, x, parallelism, how, nullptr, nullptr);
  prepared.model.cost(x, r);
  prepared.model.linearize<R>(x, r);
  prepared.solver.gather<R, double>(prepared.model.records<R>());
  std::vector<double> scale;
  for (const double square : prepared.solver.squares()) scale.push_back(square > 0 ? std::sqrt(square) : 1);
  BlockStep step;
  prepared.solver.aim(preconditioner, goal);
  prepared.solver.solve<R, double>(prepared.model.records<R>(), lambda, scale, step);
  return step;
}

double distance(const BlockStep& a, const BlockStep& b) {
  double squares = 0, size = 0;
  for (std::size_t j = 0; j < a.step.size(); ++j) {
    squares += std::pow(a.step[j] - b.step[j], 2);
    size += b.step[j] * b.step[j];
  }
  return std::sqrt(squares / size);
}

constexpr CgGoal kExact{.eta = 1e-14, .residual = 1e-12, .most = 5000};

}  // namespace

TEST_CASE(
    "Conjugate gradients solve a dense system as Cholesky does, in no more steps than it has eigenvalues") {
  Eigen::VectorXd values(40);
  for (Eigen::Index i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i % 5);
  const Eigen::MatrixXd A = matrix_with(values, 3);
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(40, -1, 2);
  Eigen::VectorXd x;
  const CgResult result =
      solve(A, Eigen::VectorXd::Ones(40), b, x, {.eta = 1e-12, .residual = 1e-12, .most = 100});
  CHECK(result.reached);
  CHECK(result.definite);
  CHECK(result.iterations <= 6);  // there are five eigenvalues
  CHECK((x - decompositions::solve(A, b)).norm() <= 1e-11 * x.norm());
  CHECK(std::fabs(result.leftover) <= 1e-12 * x.dot(b));
}

TEST_CASE("The test of Nash and Sofer ends them early, with a step that has most of the decrease") {
  Eigen::VectorXd values(200);
  for (Eigen::Index i = 0; i < values.size(); ++i)
    values[i] = std::pow(10.0, 4.0 * static_cast<double>(i) / 199);
  const Eigen::MatrixXd A = matrix_with(values, 5);
  const Eigen::VectorXd b = A * Eigen::VectorXd::Ones(200), exact = decompositions::solve(A, b);
  const auto decrease = [&](const Eigen::VectorXd& x) { return b.dot(x) - 0.5 * x.dot(A * x); };
  int last = 0;
  for (const double eta : {0.5, 0.1, 1e-2, 1e-4}) {
    Eigen::VectorXd x;
    const CgResult result = solve(A, A.diagonal(), b, x, {.eta = eta, .residual = 1, .most = 1000});
    CAPTURE(eta);
    CHECK(result.reached);
    CHECK(result.iterations >= last);
    CHECK(decrease(x) <= decrease(exact) * (1 + 1e-12));
    CHECK(decrease(x) >= decrease(exact) * (1 - eta));
    last = result.iterations;
  }
  CHECK(last > 10);
}

TEST_CASE("A singular system with a right-hand side in its range is solved, one of the wrong sign is seen") {
  Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(30, 1, 9);
  values.head(4).setZero();
  Eigen::MatrixXd A = matrix_with(values, 7);
  const Eigen::VectorXd b = A * Eigen::VectorXd::LinSpaced(30, 1, 2);
  Eigen::VectorXd x;
  CgResult result = solve(A, Eigen::VectorXd::Ones(30), b, x, {.eta = 1e-10, .residual = 1e-10, .most = 200});
  CHECK(result.reached);
  CHECK((A * x - b).norm() <= 1e-9 * b.norm());
  values[0] = -5;
  A = matrix_with(values, 7);
  result = solve(A, Eigen::VectorXd::Ones(30), b + 3 * matrix_with(values, 7).col(0), x,
                 {.eta = 1e-10, .residual = 1e-10, .most = 200});
  CHECK_FALSE(result.definite);
  CHECK(x.allFinite());
  result = solve(A, Eigen::VectorXd::Ones(30), Eigen::VectorXd::Zero(30), x, {});
  CHECK(result.reached);
  CHECK(result.iterations == 0);
  CHECK(x.isZero());
}

TEST_CASE(
    "A step by the operator is the factor's, for both preconditioners, in both formats of J and with blocks "
    "of any kind") {
  const auto check = [](Problem& problem, double tolerance) {
    for (const double lambda : {1e-1, 1e-4}) {
      const BlockStep factored =
          step_of<double>(problem, StepSolver::factored, Preconditioner::jacobi, lambda, kExact);
      const BlockStep narrow =
          step_of<float>(problem, StepSolver::factored, Preconditioner::jacobi, lambda, kExact);
      REQUIRE(factored.factored);
      CHECK(factored.iterations == 0);
      for (const Preconditioner preconditioner : {Preconditioner::jacobi, Preconditioner::schur_jacobi}) {
        CAPTURE(lambda);
        CAPTURE(static_cast<int>(preconditioner));
        const BlockStep step =
            step_of<double>(problem, StepSolver::iterative, preconditioner, lambda, kExact);
        REQUIRE(step.factored);
        CHECK(step.reached);
        CHECK(step.iterations > 0);
        CHECK(distance(step, factored) <= tolerance);
        CHECK(step.predicted == doctest::Approx(factored.predicted).epsilon(1e-9));
        CHECK(step.decrement == doctest::Approx(factored.decrement).epsilon(1e-9));
        CHECK(distance(step_of<float>(problem, StepSolver::iterative, preconditioner, lambda, kExact),
                       narrow) <= tolerance);
      }
    }
  };
  SUBCASE("bundles") {
    bal::Problem scene = bal::generate(12, 150, 700, 4);
    Problem problem;
    add_all(problem, scene);
    check(problem, 1e-7);
  }
  SUBCASE("two cameras and a point to a residual block, in any order") {
    std::mt19937 random(8);
    const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0 + 0.2; };
    std::vector<double> cameras(2 * 9), points(2 * 60);
    for (double& v : cameras) v = uniform();
    for (double& v : points) v = uniform();
    Problem problem;
    for (std::size_t k = 0; k < 240; ++k) {
      const std::size_t left = random() % 9, right = (left + 1 + random() % 8) % 9;
      problem.add_residual_block(Triple{uniform(), uniform()}, nullptr,
                                 {two(cameras, left), two(cameras, right), two(points, k % 60)});
    }
    check(problem, 1e-8);
  }
}

TEST_CASE("A step that is cut short has what its own quadratic says") {
  bal::Problem scene = bal::generate(12, 150, 700, 4);
  Problem problem;
  add_all(problem, scene);
  const BlockStep exact =
      step_of<double>(problem, StepSolver::factored, Preconditioner::jacobi, 1e-4, kExact);
  constexpr double kLambda = 1e-4;
  // Conjugate gradients minimise the model with the damping in it.
  const auto decrease = [](const BlockStep& step) {
    return step.predicted - 0.5 * kLambda * step.scaled_norm * step.scaled_norm;
  };
  double last = 0;
  for (const int most : {1, 3, 10, 30}) {
    const BlockStep step = step_of<double>(problem, StepSolver::iterative, Preconditioner::schur_jacobi, 1e-4,
                                           {.eta = 1e-14, .residual = 1e-12, .most = most});
    CHECK(step.factored);
    CHECK_FALSE(step.reached);
    CHECK(step.iterations == most);
    CHECK(decrease(step) > last);
    CHECK(decrease(step) <= decrease(exact) * (1 + 1e-9));
    last = decrease(step);
  }
}

TEST_CASE(
    "Blocks of the Schur complement are all of it where each point is seen once: one iteration, and one to "
    "see it") {
  bal::Problem scene = bal::generate(5, 200, 200, 4);
  Problem problem;
  add_all(problem, scene);
  const CgGoal goal{.eta = 1e-6, .residual = 1e-6, .most = 5000};
  const BlockStep schur =
      step_of<double>(problem, StepSolver::iterative, Preconditioner::schur_jacobi, 1e-4, goal);
  const BlockStep jacobi =
      step_of<double>(problem, StepSolver::iterative, Preconditioner::jacobi, 1e-4, goal);
  CHECK(schur.iterations <= 2);
  CHECK(jacobi.iterations > 4);
  CHECK(distance(jacobi, schur) < 1e-4);
}
