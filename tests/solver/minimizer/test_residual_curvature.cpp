// Tests the curvature of large residuals: what is learned of it, when it is used, and how it helps fits.
#include "mgh.hpp"

#include "linear/linear_solver.hpp"
#include "minimizer/residual_curvature.hpp"

#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tables.hpp"

using namespace nlsq;
namespace mgh = problems::mgh;

namespace {

using Dense = Eigen::MatrixXd;
using Numbers = Eigen::VectorXd;

// Computes the residuals c_i + a_iᵀx + ½ xᵀB_i x.
struct Quadratic {
  Dense A;
  Numbers c;
  std::vector<Dense> B;

  Quadratic(int m, int n, double level, double bend, unsigned seed) : A(m, n), c(m) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (double& a : A.reshaped()) a = normal(random);
    for (double& v : c) v = level * normal(random);
    for (int i = 0; i < m; ++i) {
      Dense M(n, n);
      for (double& v : M.reshaped()) v = bend * normal(random);
      B.push_back(0.5 * (M + M.transpose()));
    }
  }
  Numbers residuals(const Numbers& x) const {
    Numbers r = c + A * x;
    for (Eigen::Index i = 0; i < r.size(); ++i) r[i] += 0.5 * x.dot(B[static_cast<std::size_t>(i)] * x);
    return r;
  }
  Dense jacobian(const Numbers& x) const {
    Dense J = A;
    for (Eigen::Index i = 0; i < J.rows(); ++i) J.row(i) += (B[static_cast<std::size_t>(i)] * x).transpose();
    return J;
  }
  Linearization at(const Numbers& x) const {
    const Dense J = jacobian(x), H = J.transpose() * J;
    const Numbers r = residuals(x), g = J.transpose() * r;
    Linearization out;
    out.plan = {Format::f64, Gram::f64};
    out.cost = 0.5 * r.squaredNorm();
    out.gradient.assign(g.begin(), g.end());
    out.normal.assign(static_cast<std::size_t>(x.size()), static_cast<std::size_t>(x.size()));
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      for (Eigen::Index j = 0; j < x.size(); ++j)
        out.normal(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) = H(i, j);
    }
    return out;
  }
  Dense curvature(const Numbers& x) const {
    const Numbers r = residuals(x);
    Dense S = Dense::Zero(x.size(), x.size());
    for (Eigen::Index i = 0; i < r.size(); ++i) S += r[i] * B[static_cast<std::size_t>(i)];
    return S;
  }
};

std::span<const double> view(const Numbers& v) { return {v.data(), static_cast<std::size_t>(v.size())}; }
Eigen::Map<const Dense> matrix(const ResidualCurvature& c, Eigen::Index n) {
  return {c.matrix().data(), n, n};
}

// Holds the least cost of a fit, and how many of its steps used the curvature.
struct Ended {
  LeastSquaresResult result;
  std::ptrdiff_t used;
};
template <class F>
Ended fit(double scale, LeastSquaresOptions options = {}) {
  options.threads = 1;
  std::vector<double> start(F::start.begin(), F::start.end());
  for (double& v : start) v *= scale;
  Ended out{least_squares(mgh::vector_function<F>, start, options), 0};
  out.used = std::ranges::count_if(out.result.summary.iterations, [](const IterationSummary& it) {
    return it.reason.find("curvature") != std::string::npos;
  });
  return out;
}

}  // namespace

TEST_CASE(
    "the learned matrix maps the last step to the part of the gradient's change that JᵀJ leaves out, and is "
    "symmetric") {
  const Quadratic q(12, 4, 5, 0.3, 1);
  ResidualCurvature curvature;
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  Numbers x = Numbers::Zero(4);
  int learned = 0;
  for (int step = 0; step < 20; ++step) {
    Numbers d(4);
    for (double& v : d) v = 0.1 * normal(random);
    const Numbers next = x + d;
    const Linearization from = q.at(x), to = q.at(next);
    const Dense before = curvature.matrix().empty() ? Dense(Dense::Zero(4, 4)) : Dense(matrix(curvature, 4));
    curvature.learn(from, to, view(d));
    Numbers y(4);
    for (Eigen::Index j = 0; j < 4; ++j)
      y[j] = to.gradient[static_cast<std::size_t>(j)] - from.gradient[static_cast<std::size_t>(j)];
    const Dense S = matrix(curvature, 4);
    CHECK((S - S.transpose()).norm() <= 1e-13 * (1 + S.norm()));
    if (y.dot(d) > 0) {
      ++learned;
      const Dense J = q.jacobian(next);
      CHECK((S * d - (y - J.transpose() * (J * d))).norm() <= 1e-11 * y.norm());
    } else {
      CHECK(S == before);
    }
    x = next;
  }
  CHECK(learned > 10);
}

TEST_CASE("small steps around a point teach its curvature, which shrinks where residuals do") {
  const Quadratic q(30, 3, 4, 0.2, 5);
  const Numbers centre = Numbers::Constant(3, 0.3);
  ResidualCurvature curvature;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (int step = 0; step < 60; ++step) {
    Numbers d(3);
    for (double& v : d) v = 1e-6 * normal(random);
    curvature.learn(q.at(centre), q.at(centre + d), view(d));
  }
  const Dense expected = q.curvature(centre);
  CHECK((matrix(curvature, 3) - expected).norm() <= 1e-2 * expected.norm());

  Quadratic small = q;
  small.c = -small.A * centre;  // the residuals nearly vanish
  for (Eigen::Index i = 0; i < small.c.size(); ++i)
    small.c[i] -= 0.5 * centre.dot(small.B[static_cast<std::size_t>(i)] * centre);
  const Numbers d = Numbers::Constant(3, 1e-6);
  curvature.learn(small.at(centre), small.at(centre + d), view(d));
  CHECK(matrix(curvature, 3).norm() <= 1e-3 * expected.norm());
}

TEST_CASE("the model that promises better is taken after three trials in a row, and left after two") {
  const Quadratic q(30, 3, 4, 0.2, 5);
  const Numbers x = Numbers::Constant(3, 0.3), d = Numbers::Constant(3, 1e-2);
  const Linearization at = q.at(x);
  ResidualCurvature curvature;
  CHECK_FALSE(curvature.choose(at, view(d), 1));  // nothing is known yet
  CHECK_FALSE(curvature.in_use());
  curvature.learn(at, q.at(x + d), view(d));
  const Eigen::Map<const Numbers> g(at.gradient.data(), 3);
  const Dense J = q.jacobian(x);
  const double without = -g.dot(d) - 0.5 * (J * d).squaredNorm(),
               with = without - 0.5 * d.dot(matrix(curvature, 3) * d);
  REQUIRE(without != with);
  CHECK_FALSE(curvature.choose(at, view(d), with));
  CHECK_FALSE(curvature.choose(at, view(d), with));
  CHECK_FALSE(curvature.choose(at, view(d), without));  // trials must be in a row
  CHECK_FALSE(curvature.choose(at, view(d), with));
  CHECK_FALSE(curvature.choose(at, view(d), with));
  CHECK_FALSE(curvature.in_use());
  CHECK(curvature.choose(at, view(d), with));
  CHECK(curvature.in_use());
  CHECK_FALSE(curvature.choose(at, view(d), 0.5 * (with + without)));  // neither model is nearer
  CHECK_FALSE(curvature.choose(at, view(d), without));
  CHECK(curvature.choose(at, view(d), without));
  CHECK_FALSE(curvature.in_use());
  curvature.forget();
  CHECK(curvature.matrix().empty());
}

TEST_CASE("a step with added curvature minimises that model, in any scale and number of parameters") {
  for (const std::size_t n : {3u, 30u}) {
    const tables::Table t = tables::Table::random(100, n, 3);
    const Linearization at = tables::linearized(t);
    Vector scale = column_norms(at);
    scale[1] *= 7;
    Matrix S(n, n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        S(i, j) = 20.0 / static_cast<double>(n) * std::cos(static_cast<double>(3 * (i + j)));
    }
    LinearSolver solver(at, scale);
    solver.add_to_normal(S);
    const Step step = solver.solve(0.5);
    REQUIRE(step.factored);
    double worst = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = at.gradient[i] + 0.5 * scale[i] * scale[i] * step.step[i];
      for (std::size_t j = 0; j < n; ++j) sum += (at.normal(i, j) + S(i, j)) * step.step[j];
      worst = std::max(worst, std::fabs(sum));
      size = std::max(size, std::fabs(at.gradient[i]));
    }
    CHECK(worst < 1e-12 * size);
  }
}

TEST_CASE(
    "Brown and Dennis: residuals whose curvature is hundreds of JᵀJ take tens of steps from every start") {
  for (const double scale : mgh::kScales) {
    CAPTURE(scale);
    const Ended end = fit<mgh::BrownDennis>(scale);
    CHECK(end.result.success());
    CHECK(2 * end.result.cost == doctest::Approx(85822.2016).epsilon(1e-8));
    CHECK(end.result.summary.iterations.size() <= 100);
    CHECK(end.used > 5);
  }
}

TEST_CASE("it is learned below float64, too: no hundreds of steps are taken there for float64 to take over") {
  LeastSquaresOptions low;
  low.precision = PrecisionPolicy::parse("f32");
  const Ended end = fit<mgh::BrownDennis>(1, low);
  CHECK(end.result.success());
  CHECK(2 * end.result.cost == doctest::Approx(85822.2016).epsilon(1e-8));
  CHECK(end.result.summary.precision.counters.rows_f32 > 0);
  CHECK(end.result.summary.iterations.size() <= 120);
  CHECK(std::ranges::any_of(end.result.summary.iterations, [](const IterationSummary& it) {
    return it.plan.residual == Format::f32 && it.reason.find("curvature") != std::string::npos;
  }));
}

TEST_CASE("JᵀJ is the model if residuals vanish, fits are easy, or a radius limits steps") {
  CHECK(fit<mgh::Rosenbrock>(1).used == 0);
  CHECK(fit<mgh::Wood>(10).used == 0);
  CHECK(fit<mgh::Bard>(1).used == 0);
  LeastSquaresOptions bounded, dogleg;
  bounded.bounds.lower.assign(4, -1e6);
  bounded.max_iterations = dogleg.max_iterations = 60;
  CHECK(fit<mgh::BrownDennis>(1, bounded).used > 0);  // bounds do not keep it from being used
  dogleg.algorithm = Algorithm::dogleg;
  CHECK(fit<mgh::BrownDennis>(1, dogleg).used == 0);
}
