// Tests variable projection at one point. The projected step and the linear parameters are compared with
// results of QR of J itself.
#include "linear/linear_solver.hpp"
#include "minimizer/variable_projection.hpp"

#include "corpora/noise.hpp"
#include "decompositions.hpp"

#include <doctest/doctest.h>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

using namespace nlsq;

namespace {

struct Point {
  Eigen::MatrixXd J;
  Eigen::VectorXd r;
  Linearization at;
};

// Returns columns of J of very different lengths, no two of which are orthogonal.
Point point(std::uint64_t seed, Eigen::Index rows, Eigen::Index columns) {
  problems::Noise random(seed);
  Point p{Eigen::MatrixXd(rows, columns), Eigen::VectorXd(rows), {}};
  for (Eigen::Index i = 0; i < rows; ++i) {
    const double common = random.normal();
    for (Eigen::Index j = 0; j < columns; ++j)
      p.J(i, j) = std::pow(10.0, static_cast<double>(j - 2)) * (random.normal() + common);
    p.r[i] = random.normal();
  }
  return p;
}

void linearize(Point& p, bool qr = false) {
  const auto n = static_cast<std::size_t>(p.J.cols());
  Eigen::MatrixXd whole(p.J.rows(), p.J.cols() + 1);
  whole << p.J, p.r;
  const Eigen::MatrixXd G = whole.transpose() * whole;
  p.at = {};
  p.at.plan = {Format::f64, qr ? Gram::qr : Gram::f64};
  p.at.gradient.resize(n);
  p.at.normal = Matrix(n, n);
  const auto index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
  for (std::size_t i = 0; i < n; ++i) {
    p.at.gradient[i] = G(index(i), index(n));
    for (std::size_t j = 0; j < n; ++j) p.at.normal(i, j) = G(index(i), index(j));
  }
  p.at.cost = 0.5 * p.r.squaredNorm();
  if (!qr) return;
  const Eigen::MatrixXd R = decompositions::qr(whole).R;
  p.at.triangle = Matrix(n + 1, n + 1);
  for (std::size_t i = 0; i <= n; ++i) {
    for (std::size_t j = i; j <= n; ++j) p.at.triangle(i, j) = R(index(i), index(j));
  }
}

Eigen::MatrixXd columns_of(const Point& p, const std::vector<int>& which) {
  Eigen::MatrixXd out(p.J.rows(), static_cast<Eigen::Index>(which.size()));
  for (std::size_t k = 0; k < which.size(); ++k) out.col(static_cast<Eigen::Index>(k)) = p.J.col(which[k]);
  return out;
}

// Returns v minus its projection onto the space that the columns of Φ span.
Eigen::MatrixXd perpendicular(const Eigen::MatrixXd& phi, const Eigen::MatrixXd& v) {
  return v - phi * decompositions::least_squares(phi, v);
}

}  // namespace

TEST_CASE(
    "the linear parameters' best values, what they gain and how far the others' columns are from theirs") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    for (const std::vector<int>& linear : {std::vector<int>{3}, {0, 4}, {4, 1, 2}}) {
      Point p = point(seed, 40, 6);
      linearize(p);
      Projection projection;
      projection.offer(linear, {}, VariableProjection::on);
      CHECK(projection.active());
      CHECK(projection.eliminated().empty());  // it has seen no point yet
      const auto weights = projection.weigh_damping(p.at);
      CHECK(std::ranges::equal(projection.eliminated(), linear));
      REQUIRE(weights.size() == 6);
      const Eigen::MatrixXd phi = columns_of(p, linear);
      for (int j = 0; j < 6; ++j) {
        const bool is_linear = std::ranges::find(linear, j) != linear.end();
        const double expected =
            is_linear ? 0 : perpendicular(phi, p.J.col(j)).squaredNorm() / p.J.col(j).squaredNorm();
        CHECK(weights[static_cast<std::size_t>(j)] == doctest::Approx(expected).epsilon(1e-11));
      }
      Vector x(6, 0.0);
      const double gain = projection.solve(p.at, x);
      const Eigen::VectorXd best = decompositions::least_squares(phi, -p.r);
      CHECK(gain ==
            doctest::Approx(0.5 * (p.r.squaredNorm() - (p.r + phi * best).squaredNorm())).epsilon(1e-11));
      for (std::size_t k = 0; k < linear.size(); ++k) {
        CHECK(x[static_cast<std::size_t>(linear[k])] ==
              doctest::Approx(best[static_cast<Eigen::Index>(k)]).epsilon(1e-10));
      }
      CHECK(std::ranges::count(x, 0.0) == 6 - static_cast<long>(linear.size()));
    }
  }
}

TEST_CASE(
    "with these weights of the damping, a step of the whole problem is Kaufman's step in the parameters that "
    "are not eliminated") {
  const std::vector<int> linear{1, 4}, others{0, 2, 3, 5};
  for (const bool qr : {false, true}) {
    for (const double lambda : {0.0, 1e-3, 1.0, 1e4}) {
      CAPTURE(qr);
      CAPTURE(lambda);
      Point p = point(7, 50, 6);
      linearize(p, qr);
      Projection projection;
      projection.offer(linear, {}, VariableProjection::on);
      LinearSolver solver(p.at, column_norms(p.at));
      solver.weigh_damping(projection.weigh_damping(p.at));
      const Step step = solver.solve(lambda);
      REQUIRE(step.factored);

      const Eigen::MatrixXd phi = columns_of(p, linear), A = columns_of(p, others),
                            PA = perpendicular(phi, A);
      Eigen::MatrixXd H = PA.transpose() * PA;
      H.diagonal() *= 1 + lambda;  // damped by the lengths of the projected columns
      const Eigen::VectorXd kaufman = -decompositions::solve(H, PA.transpose() * p.r);
      const Eigen::VectorXd moved = decompositions::least_squares(phi, -(p.r + A * kaufman));
      Eigen::VectorXd whole(6);
      for (std::size_t k = 0; k < others.size(); ++k)
        whole[others[k]] = kaufman[static_cast<Eigen::Index>(k)];
      for (std::size_t k = 0; k < linear.size(); ++k) whole[linear[k]] = moved[static_cast<Eigen::Index>(k)];
      for (std::size_t j = 0; j < 6; ++j)
        CHECK(step.step[j] == doctest::Approx(whole[static_cast<Eigen::Index>(j)]).epsilon(1e-8));
      // This is the decrease of the linear model there.
      CHECK(step.predicted ==
            doctest::Approx(0.5 * (p.r.squaredNorm() - (p.r + p.J * whole).squaredNorm())).epsilon(1e-9));
    }
  }
}

TEST_CASE("weights of the damping hold within bounds, too") {
  Point p = point(9, 50, 6);
  linearize(p);
  const std::vector<int> linear{1, 4};
  Projection projection;
  projection.offer(linear, {}, VariableProjection::on);
  const auto weights = projection.weigh_damping(p.at);
  LinearSolver free(p.at, column_norms(p.at)), boxed(p.at, column_norms(p.at));
  free.weigh_damping(weights);
  boxed.weigh_damping(weights);
  const Step far = free.solve(0.1);
  // Bounds out of reach change nothing. A bound half the way of parameter 2 holds it, and the rest is the
  // minimum beside it.
  Vector lower(6, -1e6), upper(6, 1e6);
  boxed.keep_within({lower, upper});
  const Step same = boxed.solve(0.1);
  for (std::size_t j = 0; j < 6; ++j) CHECK(same.step[j] == doctest::Approx(far.step[j]).epsilon(1e-12));
  (far.step[2] > 0 ? upper : lower)[2] = 0.5 * far.step[2];
  LinearSolver held(p.at, column_norms(p.at));
  held.weigh_damping(weights);
  held.keep_within({lower, upper});
  const Step step = held.solve(0.1);
  REQUIRE(step.held.size() == 6);
  CHECK(step.held[2] != Held::none);
  CHECK(step.step[2] == 0.5 * far.step[2]);
  const Eigen::Map<const Eigen::VectorXd> s(step.step.data(), 6);
  const Eigen::VectorXd slope = p.J.transpose() * (p.r + p.J * s);
  for (Eigen::Index j = 0; j < 6; ++j) {
    const double damping = 0.1 * weights[static_cast<std::size_t>(j)] * p.J.col(j).squaredNorm() * s[j];
    if (j != 2) CHECK(std::fabs(slope[j] + damping) <= 1e-9 * p.J.col(j).norm() * p.r.norm());
  }
  CHECK(step.predicted ==
        doctest::Approx(0.5 * (p.r.squaredNorm() - (p.r + p.J * s).squaredNorm())).epsilon(1e-9));
}

TEST_CASE("columns that depend on others stay; where all become dependent nothing moves") {
  Point p = point(11, 40, 5);
  p.J.col(3) = 2 * p.J.col(1);
  linearize(p);
  Projection projection;
  projection.offer(std::vector<int>{1, 2, 3}, {}, VariableProjection::on);
  const Vector weights(projection.weigh_damping(p.at).begin(), projection.weigh_damping(p.at).end());
  CHECK(std::ranges::equal(projection.eliminated(), std::vector<int>{1, 2}));
  CHECK(weights[3] == 1);
  CHECK(weights[1] == 0);
  // At another point, the two columns that are left coincide.
  p.J.col(2) = p.J.col(1);
  linearize(p);
  CHECK(projection.weigh_damping(p.at).empty());
  Vector x(5, 0.25);
  CHECK(projection.solve(p.at, x) == 0);
  CHECK(x == Vector(5, 0.25));
  CHECK(std::ranges::equal(projection.eliminated(), std::vector<int>{1, 2}));
}

TEST_CASE("automatic: only where a column of the others is within 8 degrees of the linear ones' span") {
  for (const double degrees : {6.0, 10.0}) {
    Point p = point(13, 60, 4);
    const Eigen::MatrixXd phi = columns_of(p, {1, 2});
    const double angle = degrees * 3.14159265358979 / 180;
    for (const int j : {0, 3}) {
      const Eigen::VectorXd across = perpendicular(phi, p.J.col(j)).normalized();
      p.J.col(j) =
          j == 0 ? (std::cos(angle) * phi.col(0).normalized() + std::sin(angle) * across).eval() : across;
    }
    linearize(p);
    for (const VariableProjection wish :
         {VariableProjection::automatic, VariableProjection::on, VariableProjection::off}) {
      Projection projection;
      projection.offer(std::vector<int>{1, 2}, {}, wish);
      const bool does = !projection.weigh_damping(p.at).empty();
      CHECK(does ==
            (wish == VariableProjection::on || (wish == VariableProjection::automatic && degrees < 8)));
      CHECK(projection.active() == does);
    }
  }
}

TEST_CASE("a J of 16 bits decides nothing; one of f32 drops no column") {
  Point p = point(17, 40, 4);
  p.J.col(0) = p.J.col(1) + 1e-3 * p.J.col(0);
  linearize(p);
  p.at.plan = {Format::f32, Gram::bf16};
  Projection automatic, on;
  automatic.offer(std::vector<int>{1, 2}, {}, VariableProjection::automatic);
  on.offer(std::vector<int>{1, 2}, {}, VariableProjection::on);
  CHECK(automatic.weigh_damping(p.at).empty());
  CHECK_FALSE(automatic.active());
  CHECK(on.weigh_damping(p.at).empty());
  CHECK(on.active());  // decided at the first point with more digits
  p.at.plan = {Format::f64, Gram::f64};
  CHECK(on.weigh_damping(p.at).size() == 4);

  Point q = point(19, 40, 4);
  q.J.col(2) = q.J.col(1) + 1e-5 * q.J.col(2);
  linearize(q);
  on.offer(std::vector<int>{1, 2}, {}, VariableProjection::on);
  q.at.plan = {Format::f32, Gram::f32_wide};
  CHECK(on.weigh_damping(q.at).empty());
  q.at.plan = {Format::f64, Gram::f64};
  CHECK(on.weigh_damping(q.at).size() == 4);
  CHECK(on.eliminated().size() == 2);
}
