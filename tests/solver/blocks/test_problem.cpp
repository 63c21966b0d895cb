// Tests what a Problem holds and refuses, losses, and manifolds.
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Difference {
  static constexpr int residuals = 1;
  double target;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = a[0] - b[0] - target;
    return true;
  }
};

template <class Call>
std::string message(Call call) {
  try {
    call();
  } catch (const ValidationError& error) {
    return error.what();
  }
  return "";
}

// Moves unit quaternions of dual numbers. For the derivative, exp(δ) x to second order is enough,
// renormalised.
struct TurnedQuaternion {
  template <class T>
  bool Plus(const T* x, const T* d, T* out) const {
    using std::sqrt;
    const T c = 1.0 / sqrt(1.0 + d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    out[0] = c * (x[0] - d[0] * x[1] - d[1] * x[2] - d[2] * x[3]);
    out[1] = c * (x[1] + d[0] * x[0] + d[1] * x[3] - d[2] * x[2]);
    out[2] = c * (x[2] - d[0] * x[3] + d[1] * x[0] + d[2] * x[1]);
    out[3] = c * (x[3] + d[0] * x[2] - d[1] * x[1] + d[2] * x[0]);
    return true;
  }
};

// It has more directions than one call of dual numbers computes.
struct ScaledVector {
  template <class T>
  bool Plus(const T* x, const T* d, T* out) const {
    using std::exp;
    for (int i = 0; i < 11; ++i) out[i] = x[i] * exp(d[i]);
    return x[0] < 100.0;
  }
};

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Blocks are counted, evaluated in the order they were added, and removed") {
  double a[2] = {3, 5}, b[1] = {1};
  std::vector<double> c{4, 4, 4};
  Problem problem;
  const auto first = problem.add_residual_block(Difference{1}, nullptr, {a, b});
  problem.add_residual_block<2>(
      [](const auto* p, const auto* q, auto* r) {
        r[0] = p[0], r[1] = q[2] * p[1];
        return true;
      },
      Loss::huber(1), {a, c});
  problem.add_residual_block([](const auto* q) { return std::array{q[0] - 4.0, q[1] + 1.0}; }, Loss(), {c});
  CHECK(problem.parameter_blocks() == 3);
  CHECK(problem.residual_blocks() == 3);
  CHECK(problem.residuals() == 5);
  CHECK(problem.parameters() == 6);
  ProblemEvaluation e = problem.evaluate();
  CHECK(e.residuals == std::vector<double>{1, 3, 20, 0, 5});
  CHECK(e.cost == doctest::Approx(0.5 * (1 + (2 * std::sqrt(409.0) - 1) + 25)));
  problem.remove_residual_block(first);
  CHECK(problem.residuals() == 4);
  problem.remove_parameter_block(c.data());
  CHECK(problem.residual_blocks() == 0);
  CHECK(problem.parameter_blocks() == 2);
  CHECK(problem.evaluate().cost == 0);
}

TEST_CASE("Wrong arguments are refused with a remedy") {
  double a[2] = {1, 2}, b[1] = {1};
  double* unknown = b;
  Problem problem;
  CHECK(contains(message([&] {
                   problem.add_residual_block(Difference{1}, nullptr, {a, unknown});
                 }),
                 "add_parameter_block"));
  CHECK(problem.residual_blocks() == 0);
  problem.add_parameter_block(unknown, 1);
  problem.add_residual_block(Difference{1}, nullptr, {a, unknown});
  CHECK(contains(message([&] { problem.add_parameter_block(a, 3); }), "2 numbers"));
  CHECK(contains(message([&] {
                   problem.add_residual_block(Difference{1}, nullptr, {b, unknown});
                 }),
                 "are the same"));
  CHECK(contains(message([&] { problem.set_constant(a + 1); }), "no parameter block"));
  CHECK(contains(message([&] { problem.set_manifold(a, quaternion_manifold()); }), "4 numbers"));
  CHECK(contains(message([&] { problem.remove_residual_block({7}); }), "no residual block 7"));
  CHECK(contains(message([&] { subset_manifold(2, {2}); }), "place 2"));
  CHECK(contains(message([&] { Loss::huber(0); }), "positive"));
  CHECK(contains(message([&] { Loss::cauchy(std::numeric_limits<double>::quiet_NaN()); }), "positive"));
  problem.set_constant(a);
  problem.set_constant(b);
  CHECK(contains(message([&] { solve(problem); }), "free"));
  SolverOptions options;
  options.tau = -1;
  problem.set_variable(a);
  CHECK(message([&] { solve(problem, options); }) != "");
}

// Both blocks were moved, and one of the results was lost without a word.
TEST_CASE("parameter blocks that share numbers are refused") {
  double pose[3] = {1, 2, 3};
  double* inside = pose + 1;
  Problem problem;
  problem.add_parameter_block(inside, 2);
  problem.add_residual_block([](const auto* all) { return all[0] + all[1] - all[2]; }, nullptr, {pose});
  problem.add_residual_block([](const auto* some) { return some[0] - 2.0 * some[1]; }, nullptr, {inside});
  CHECK(contains(message([&] { solve(problem); }), "share numbers"));
  problem.remove_parameter_block(inside);
  CHECK(message([&] { solve(problem); }).empty());
}

TEST_CASE("Losses: slopes are derivatives, small residuals count as squares, scales scale") {
  for (const Loss& loss : {Loss(), Loss::soft_l1(1.7), Loss::huber(1.7), Loss::cauchy(1.7), Loss::arctan(1.7),
                           Loss::tukey(1.7)}) {
    CHECK(loss(0).rho == 0);
    CHECK(loss(0).slope == 1);
    CHECK(loss(1e-12).rho == doctest::Approx(1e-12).epsilon(1e-9));
    for (const double s : {0.1, 1.0, 2.5, 2.9, 10.0, 1e4}) {
      const double h = 1e-5 * s, numeric = (loss(s + h).rho - loss(s - h).rho) / (2 * h);
      CHECK(loss(s).slope == doctest::Approx(numeric).epsilon(1e-7));
    }
  }
  CHECK(Loss::huber(2)(9 * 4.0).rho == doctest::Approx(4 * (2 * 3.0 - 1)));
  CHECK(Loss::cauchy(2)(4.0).rho == doctest::Approx(4 * std::log(2.0)));
}

TEST_CASE("Manifolds: a step of zero moves nothing, Jacobians are derivatives, lengths stay") {
  std::mt19937 random(3);
  const auto number = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  const ManifoldPtr manifolds[] = {
      quaternion_manifold(),
      eigen_quaternion_manifold(),
      sphere_manifold(3),
      sphere_manifold(2),
      subset_manifold(4, {1}),
      euclidean_manifold(3),
      line_manifold(2),
      line_manifold(3),
      autodiff_manifold<4, 3>(TurnedQuaternion{}),
      autodiff_manifold<11, 11>(ScaledVector{}),
      product_manifold({quaternion_manifold(), euclidean_manifold(3), subset_manifold(2, {0})})};
  for (const ManifoldPtr& m : manifolds) {
    const auto n = static_cast<std::size_t>(m->ambient()), t = static_cast<std::size_t>(m->tangent());
    for (int round = 0; round < 20; ++round) {
      std::vector<double> x(n), delta(t, 0), y(n), J(n * t), above(n), below(n);
      for (double& v : x) v = number() + 0.01;
      m->plus(x.data(), delta.data(), y.data());
      CHECK(x == y);
      m->plus_jacobian(x.data(), J.data());
      for (std::size_t k = 0; k < t; ++k) {
        delta[k] = 1e-5;
        m->plus(x.data(), delta.data(), above.data());
        delta[k] = -1e-5;
        m->plus(x.data(), delta.data(), below.data());
        delta[k] = 0;
        for (std::size_t i = 0; i < n; ++i)
          CHECK(J[i * t + k] == doctest::Approx((above[i] - below[i]) / 2e-5).epsilon(1e-8).scale(1));
      }
    }
  }
  for (const ManifoldPtr& m : {quaternion_manifold(), eigen_quaternion_manifold(), sphere_manifold(4)}) {
    const double x[4] = {0.5, -0.5, 0.7, 0.1}, delta[3] = {0.4, -1.3, 0.8};
    double y[4];
    m->plus(x, delta, y);
    CHECK(std::hypot(std::hypot(y[0], y[1]), std::hypot(y[2], y[3])) == doctest::Approx(1).epsilon(1e-15));
    CHECK(y[0] != x[0]);
  }
  // Both give the same derivative, and a point that does not exist is not finite.
  const double at[4] = {0.5, -0.5, 0.7, 0.1};
  double by_hand[12], by_dual[12];
  quaternion_manifold()->plus_jacobian(at, by_hand);
  autodiff_manifold<4, 3>(TurnedQuaternion{})->plus_jacobian(at, by_dual);
  for (int i = 0; i < 12; ++i) CHECK(by_dual[i] == doctest::Approx(by_hand[i]).epsilon(1e-15));
  const std::vector<double> far(11, 1000.0), step(11, 0.1);
  std::vector<double> none(11);
  autodiff_manifold<11, 11>(ScaledVector{})->plus(far.data(), step.data(), none.data());
  CHECK(std::isnan(none[10]));
  // On a line, the direction keeps its length, and the point moves across the direction by the step's length.
  const double line[6] = {1, 2, 3, 0, 3, 4}, across[4] = {0.3, -0.4, 0, 0}, tilt[4] = {0, 0, 0.2, 0.1};
  double shifted[6], tilted[6];
  line_manifold(3)->plus(line, across, shifted);
  line_manifold(3)->plus(line, tilt, tilted);
  CHECK(std::hypot(shifted[0] - 1, shifted[1] - 2, shifted[2] - 3) == doctest::Approx(0.5));
  CHECK(3 * (shifted[1] - 2) + 4 * (shifted[2] - 3) == doctest::Approx(0).scale(1));
  CHECK(shifted[4] == 3);
  CHECK(std::hypot(tilted[3], tilted[4], tilted[5]) == doctest::Approx(5).epsilon(1e-15));
  CHECK(tilted[0] == 1);
  // A quarter turn about z from the unit quaternion has half the rotation vector.
  const double one[4] = {1, 0, 0, 0}, quarter[3] = {0, 0, std::numbers::pi / 4};
  double turned[4];
  quaternion_manifold()->plus(one, quarter, turned);
  CHECK(turned[0] == doctest::Approx(std::sqrt(0.5)));
  CHECK(turned[3] == doctest::Approx(std::sqrt(0.5)));
}
