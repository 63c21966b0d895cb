// Compares damped steps with Eigen's rank-revealing QR of the stacked rows [J D⁻¹; √λ I].
#include "linear/dot.hpp"
#include "linear/linear_solver.hpp"

#include <doctest/doctest.h>

#include <Eigen/Core>

#include <cmath>
#include <limits>

#include "decompositions.hpp"
#include "tables.hpp"

using namespace nlsq;
using tables::Table;

namespace {

Eigen::MatrixXd jacobian(const Table& t) {
  Eigen::MatrixXd J(t.m, t.n);
  for (std::size_t j = 0; j < t.n; ++j) {
    for (std::size_t i = 0; i < t.m; ++i) J(i, j) = t.columns[j][i];
  }
  return J;
}
Eigen::VectorXd residual(const Table& t) {
  return Eigen::Map<const Eigen::VectorXd>(t.columns[t.n].data(), static_cast<Eigen::Index>(t.m));
}
Eigen::VectorXd eigen(const Vector& v) {
  return Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
}

// Returns the step by QR of the rows themselves, which does not square condition numbers.
Eigen::VectorXd reference_step(const Table& t, const Vector& scale, double lambda) {
  const auto n = static_cast<Eigen::Index>(t.n), m = static_cast<Eigen::Index>(t.m);
  Eigen::MatrixXd A = Eigen::MatrixXd::Zero(m + n, n);
  A.topRows(m) = jacobian(t) * eigen(scale).cwiseInverse().asDiagonal();
  A.bottomRows(n).diagonal().setConstant(std::sqrt(lambda));
  Eigen::VectorXd b = Eigen::VectorXd::Zero(m + n);
  b.head(m) = -residual(t);
  return eigen(scale).cwiseInverse().cwiseProduct(decompositions::least_squares(A, b).col(0));
}

// Returns columns that share a direction, so that the condition of JᵀJ is about `ratio`².
Table nearly_collinear(std::size_t m, std::size_t n, double ratio, unsigned seed) {
  Table t = Table::random(m, n, seed);
  for (std::size_t i = 0; i < m; ++i) t.columns[1][i] = t.columns[0][i] + t.columns[1][i] / ratio;
  return t;
}

double relative(const Vector& a, const Eigen::VectorXd& b) { return (eigen(a) - b).norm() / b.norm(); }

}  // namespace

TEST_CASE("norms of terms whose squares overflow are finite, and those of infinite terms are not") {
  const std::vector<double> v{3e200, -4e200}, ones{1, 1}, large{1e200, 1e200};
  CHECK(nlsq::scaled_norm(v, ones) == doctest::Approx(5e200));
  CHECK(nlsq::scaled_norm(ones, v) == doctest::Approx(5e200));
  CHECK(std::isinf(nlsq::scaled_norm(v, large)));
  CHECK(nlsq::scaled_norm(std::vector<double>{3, -4}, ones) == 5);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(nlsq::scaled_norm(std::vector<double>{nan, 3e200}, ones)));
}

TEST_CASE("Cholesky and QR steps are Eigen's, whatever the damping and the scales") {
  for (const std::size_t n : {1u, 2u, 5u, 20u, 130u}) {
    for (const double lambda : {0.0, 1e-8, 1e-3, 1.0, 1e6}) {
      CAPTURE(n);
      CAPTURE(lambda);
      Table t = Table::random(200, n, static_cast<unsigned>(n));
      for (std::size_t j = 0; j < n; ++j) {
        for (double& v : t.columns[j]) v *= std::pow(10, static_cast<double>(j % 7) * 4 - 12);
      }
      Vector scale = column_norms(linearized(t));
      scale[0] *= 3;  // any positive scale is allowed
      const Eigen::VectorXd expected = reference_step(t, scale, lambda);
      for (const bool qr : {false, true}) {
        CAPTURE(qr);
        LinearSolver solver(linearized(t, qr), scale);
        const Step step = solver.solve(lambda);
        REQUIRE(step.factored);
        const Eigen::VectorXd scaled = eigen(scale).cwiseProduct(eigen(step.step));
        CHECK((scaled - eigen(scale).cwiseProduct(expected)).norm() <= 1e-12 * scaled.norm());
        CHECK(step.scaled_norm == doctest::Approx(scaled.norm()).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("QR keeps the digits that normal equations lose") {
  const Table t = nearly_collinear(300, 4, 1e6, 7);
  const Vector scale = column_norms(linearized(t));
  const Eigen::VectorXd expected = reference_step(t, scale, 0);
  const Step by_qr = LinearSolver(linearized(t, true), scale).solve(0);
  const Step by_normal = LinearSolver(linearized(t), scale).solve(0);
  REQUIRE(by_qr.factored);
  REQUIRE(by_normal.factored);
  CHECK(relative(by_qr.step, expected) < 1e-8);
  CHECK(relative(by_normal.step, expected) > 1e-8);
  CHECK(relative(by_normal.step, expected) < 1e-2);
}

TEST_CASE("the predicted decrease is that of the linear model, and ν² is gᵀ(H+λI)⁻¹g") {
  const Table t = Table::random(100, 6, 3);
  const Linearization at = linearized(t);
  const Vector scale = column_norms(at);
  for (const bool qr : {false, true}) {
    for (const double lambda : {0.0, 1e-3, 10.0}) {
      LinearSolver solver(linearized(t, qr), scale);
      const Step step = solver.solve(lambda);
      const double after = 0.5 * (residual(t) + jacobian(t) * eigen(step.step)).squaredNorm();
      CHECK(step.predicted == doctest::Approx(at.cost - after).epsilon(1e-10));
      const double nu2 = -eigen(at.gradient).dot(eigen(step.step));
      CHECK(step.nu * step.nu == doctest::Approx(nu2).epsilon(1e-12));
      CHECK(solver.norm_in_metric(at.gradient) == doctest::Approx(step.nu).epsilon(1e-10));
      const Vector again = solver.apply_inverse(at.gradient);
      CHECK(relative(again, eigen(step.step)) < 1e-10);
    }
  }
}

TEST_CASE("the root mean square norm of a random vector follows from its covariance") {
  const Table t = Table::random(50, 3, 11);
  const Vector scale = column_norms(linearized(t));
  LinearSolver solver(linearized(t), scale);
  REQUIRE(solver.solve(0.01).factored);
  // For the covariance BᵀB of rows v_k, the mean square is the sum of the squared norms.
  Matrix rows(4, 3);
  double squares = 0;
  std::size_t k = 0;
  for (const Vector& v : {Vector{1, 2, 3}, Vector{-1, 0.5, 0}, Vector{0, 0, 4}}) {
    squares += std::pow(solver.norm_in_metric(v), 2);
    for (std::size_t j = 0; j < 3; ++j) rows(k, j) = v[j];
    ++k;
  }
  CHECK(solver.rms_in_metric(rows) == doctest::Approx(std::sqrt(squares)).epsilon(1e-12));
  CHECK(solver.rms_in_metric(Matrix(3, 3)) == 0);
}

TEST_CASE(
    "rounding of J is measured by its largest singular value in the metric, and by the step that it spoils") {
  const Table t = Table::random(40, 3, 12);
  const Linearization at = linearized(t);
  const Vector scale = column_norms(at);
  LinearSolver solver(at, scale);
  const Step step = solver.solve(0.05);
  REQUIRE(step.factored);
  Matrix A(40, 3), B(40, 3);
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      A(i, j) = t.columns[j][i];
      B(i, j) = A(i, j) + 1e-3 * std::sin(static_cast<double>(7 * i + j));
    }
  }
  // With S = L⁻¹D⁻¹, these are the norms of S'EᵀES and of S(BᵀB - AᵀA)s, by columns of S from unit vectors.
  Eigen::MatrixXd E(40, 3), H(3, 3), D = Eigen::MatrixXd::Zero(3, 3), a(40, 3), b(40, 3);
  for (Eigen::Index i = 0; i < 40; ++i) {
    for (Eigen::Index j = 0; j < 3; ++j) {
      a(i, j) = A(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
      b(i, j) = B(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    }
  }
  E = b - a;
  for (Eigen::Index j = 0; j < 3; ++j) D(j, j) = 1 / scale[static_cast<std::size_t>(j)];
  H = D * a.transpose() * a * D + 0.05 * Eigen::MatrixXd::Identity(3, 3);
  const Eigen::MatrixXd S = decompositions::solve(decompositions::cholesky(H), D);
  const double largest = decompositions::svd(E * S.transpose()).values[0];
  const double found = solver.largest_in_metric(A, B);
  CHECK(found <= largest * (1 + 1e-12));
  CHECK(found >= 0.8 * largest);
  const Eigen::VectorXd e =
      S * (b.transpose() * (b * eigen(step.step)) - a.transpose() * (a * eigen(step.step)));
  CHECK(solver.contraction(A, B, step) == doctest::Approx(e.norm() / step.nu).epsilon(1e-9));
  CHECK(solver.contraction(A, A, step) == 0);
}

TEST_CASE("the condition number is exact for up to 64 parameters and an estimate within a factor beyond") {
  for (const std::size_t n : {3u, 64u, 90u}) {
    for (const double lambda : {0.0, 1e-4, 1.0}) {
      for (const bool qr : {false, true}) {
        CAPTURE(n);
        CAPTURE(lambda);
        CAPTURE(qr);
        const Table t = nearly_collinear(400, n, 100, static_cast<unsigned>(n));
        const Linearization at = linearized(t, qr);
        const Vector scale = column_norms(at);
        const Eigen::MatrixXd Js = jacobian(t) * eigen(scale).cwiseInverse().asDiagonal();
        Eigen::MatrixXd H = Js.transpose() * Js;
        H.diagonal().array() += lambda;
        const auto norm = [](const Eigen::MatrixXd& A) { return A.cwiseAbs().colwise().sum().maxCoeff(); };
        const double exact = norm(H) * norm(decompositions::inverse(H));
        const double estimate = LinearSolver(at, scale).solve(lambda).condition;
        if (n <= 64) {
          CHECK(estimate == doctest::Approx(exact).epsilon(1e-6));
        } else {
          CHECK(estimate <= exact * (1 + 1e-6));
          CHECK(estimate >= exact / 3);
        }
      }
    }
  }
}

TEST_CASE("a singular matrix is not factored, and damping mends it") {
  Table t = Table::random(60, 3, 5);
  t.columns[2].assign(t.m, 0.0);  // this parameter has no effect
  const Vector scale{1, 1, 1};
  for (const bool qr : {false, true}) {
    CAPTURE(qr);
    LinearSolver solver(linearized(t, qr), scale);
    CHECK_FALSE(solver.solve(0).factored);
    const Step damped = solver.solve(1e-3);
    REQUIRE(damped.factored);
    CHECK(damped.step[2] == 0);
  }
}

TEST_CASE("an indefinite or not finite matrix is not factored") {
  Linearization at = linearized(Table::random(20, 2, 9));
  at.normal(0, 1) = at.normal(1, 0) = 10 * at.normal(0, 0);
  CHECK_FALSE(LinearSolver(at, {1, 1}).solve(0).factored);
  at.normal(0, 1) = at.normal(1, 0) = std::nan("");
  CHECK_FALSE(LinearSolver(at, {1, 1}).solve(0).factored);
}

TEST_CASE("more damping means a shorter step and less predicted decrease") {
  const Table t = Table::random(100, 5, 21);
  const Vector scale = column_norms(linearized(t));
  double length = INFINITY, predicted = INFINITY;
  for (double lambda = 1e-6; lambda < 1e6; lambda *= 10) {
    const Step step = LinearSolver(linearized(t), scale).solve(lambda);
    CHECK(step.scaled_norm < length);
    CHECK(step.predicted < predicted);
    CHECK(step.predicted > 0);
    length = step.scaled_norm;
    predicted = step.predicted;
  }
}

TEST_CASE(
    "a dogleg step has the radius's length, lies on the two legs, and promises what the model falls by") {
  Linearization at;
  at.finite = true;
  at.normal = Matrix(2, 2);
  at.normal(0, 0) = 4, at.normal(1, 1) = 0.25, at.normal(0, 1) = at.normal(1, 0) = 0.3;
  at.gradient = {-2, -1};
  const Vector scale{1, 0.5};
  // In scaled variables, H = [4 0.6; 0.6 1] and g = (-2, -2).
  const Eigen::Matrix2d H{{4, 0.6}, {0.6, 1}};
  const Eigen::Vector2d g{-2, -2};
  const Eigen::Vector2d newton = -decompositions::solve(H, g),
                        downhill = -g * (g.squaredNorm() / g.dot(H * g));
  LinearSolver solver(at, scale);
  double last = 0;
  for (const double radius :
       {0.01, 0.3, 0.5 * downhill.norm(), 0.99 * downhill.norm(), 0.5 * (downhill.norm() + newton.norm()),
        0.99 * newton.norm(), 2 * newton.norm()}) {
    Step step = solver.solve(0);
    REQUIRE(step.factored);
    solver.shorten_to_radius(radius, step);
    const Eigen::Vector2d s{step.step[0] * scale[0], step.step[1] * scale[1]};
    CAPTURE(radius);
    CHECK(s.norm() == doctest::Approx(std::min(radius, newton.norm())).epsilon(1e-12));
    CHECK(step.scaled_norm == doctest::Approx(s.norm()).epsilon(1e-12));
    CHECK(step.predicted == doctest::Approx(-(g.dot(s) + 0.5 * s.dot(H * s))).epsilon(1e-12));
    CHECK(step.predicted > last);
    last = step.predicted;
    const Eigen::Vector2d from = radius <= downhill.norm() ? Eigen::Vector2d::Zero().eval() : downhill,
                          to = radius <= downhill.norm() ? downhill : newton;
    CHECK(std::fabs((s - from).x() * (to - from).y() - (s - from).y() * (to - from).x()) <=
          1e-12 * (to - from).squaredNorm());
  }
  // QR must give the same.
  Linearization triangle = at;
  triangle.triangle = Matrix(3, 3);
  const Eigen::Matrix2d L = decompositions::cholesky(Eigen::Matrix2d{{4, 0.3}, {0.3, 0.25}}),
                        R = L.transpose();
  const Eigen::Vector2d z = decompositions::solve(L, Eigen::Vector2d{-2, -1});
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = i; j < 2; ++j)
      triangle.triangle(i, j) = R(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
    triangle.triangle(i, 2) = z[static_cast<Eigen::Index>(i)];
  }
  LinearSolver by_qr(triangle, scale);
  for (const double radius : {0.1, 1.2}) {
    Step a = solver.solve(0), b = by_qr.solve(0);
    solver.shorten_to_radius(radius, a);
    by_qr.shorten_to_radius(radius, b);
    for (std::size_t j = 0; j < 2; ++j) CHECK(b.step[j] == doctest::Approx(a.step[j]).epsilon(1e-10));
    CHECK(b.predicted == doctest::Approx(a.predicted).epsilon(1e-10));
  }
  // Within bounds, the path never leaves them. If the step ends on a bound, it comes straight back.
  const Vector below{-5, -5}, above{0.1, 1};
  LinearSolver bounded(at, scale);
  bounded.keep_within({below, above});
  for (const double radius : {0.02, 0.1, 0.3, 10.0}) {
    Step step = bounded.solve(0);
    bounded.shorten_to_radius(radius, step);
    CHECK(step.step[0] <= 0.1);
    CHECK(step.step[1] <= 1);
    CHECK(step.predicted > 0);
    CHECK(step.scaled_norm <= radius * (1 + 1e-12));
    CHECK((step.held.empty() || step.held[0] == (radius < 10 ? Held::none : Held::upper)));
  }
}
