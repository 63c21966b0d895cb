// Tests solves whose steps are wrong far from the optimum: derivatives may be rounding errors, and steps may
// be short because of their damping.
#include <nlsq/ceres.hpp>

#include <ceres/autodiff_cost_function.h>
#include <ceres/manifold.h>
#include <ceres/rotation.h>  // before doctest, which has its own DCHECK_NE

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace {

// Computes a square root. The functor fails near its branch point.
struct Root {
  double x, y;
  template <class T>
  bool operator()(const T* a, T* r) const {
    using std::sqrt;
    const T inside = a[0] - a[1] * x;
    if (inside < T(0.05)) return false;
    r[0] = 100.0 * (a[3] * sqrt(inside) + a[2] - y);
    return true;
  }
};

// Measures the distance of a point, after a rotation and a shift, from the tangent plane of its partner.
struct PointToPlane {
  std::array<double, 3> point, partner, normal;
  double weight;
  template <class T>
  bool operator()(const T* pose, T* r) const {
    const T from[3] = {T(point[0]), T(point[1]), T(point[2])};
    T to[3];
    ceres::AngleAxisRotatePoint(pose, from, to);
    r[0] = T(0);
    for (std::size_t i = 0; i < 3; ++i) r[0] += weight * normal[i] * (to[i] + pose[3 + i] - partner[i]);
    return true;
  }
};

// Computes x exp(d), which stays positive. Far steps overflow.
struct Positive final : ceres::Manifold {
  int AmbientSize() const override { return 1; }
  int TangentSize() const override { return 1; }
  bool Plus(const double* x, const double* d, double* out) const override {
    out[0] = x[0] * std::exp(d[0]);
    return true;
  }
  bool PlusJacobian(const double* x, double* J) const override {
    J[0] = x[0] > 0 ? x[0] : std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  bool Minus(const double* y, const double* x, double* d) const override {
    d[0] = std::log(y[0] / x[0]);
    return true;
  }
  bool MinusJacobian(const double* x, double* J) const override {
    J[0] = 1 / x[0];
    return true;
  }
};

struct Logarithm {
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::log;
    r[0] = 1e-3 * log(x[0]) - 1.0;
    r[1] = 0.1 * (x[0] - 3.0);
    return true;
  }
};

struct Falls {
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    r[0] = 1.0 + exp(-x[0]);
    return true;
  }
};

}  // namespace

// If points of a sphere are compared along its normals, they do not determine the rotation at the start. The
// derivatives by the rotation are rounding errors there. A step along them led to angles of 1e14.
TEST_CASE("derivatives that are rounding errors lead to no step of any length") {
  for (unsigned seed = 0; seed < 10; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::normal_distribution<> normal;
    double moved[6], pose[6] = {};
    for (double& number : moved) number = 0.3 * normal(random);
    ceres::Problem problem;
    for (int i = 0; i < 60; ++i) {
      PointToPlane f{{}, {}, {normal(random), normal(random), normal(random)}, 100};
      const double length = std::hypot(f.normal[0], f.normal[1], f.normal[2]);
      for (std::size_t k = 0; k < 3; ++k) f.normal[k] /= length, f.point[k] = 4 * f.normal[k];
      ceres::AngleAxisRotatePoint(moved, f.point.data(), f.partner.data());
      const double error = normal(random) / f.weight;
      for (std::size_t k = 0; k < 3; ++k) f.partner[k] += moved[3 + k] + error * f.normal[k];
      problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<PointToPlane, 1, 6>(new PointToPlane(f)),
                               nullptr, pose);
    }
    ceres::Solver::Options options;
    options.max_num_iterations = 100;
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    INFO(summary.message);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
    CHECK(summary.final_cost < 100);  // half of a chi-squared with 54 degrees of freedom
  }
}

// Steps are short because of their damping, since the functions fail nearby. So they lower the cost only a
// little.
TEST_CASE("a tolerance that is met several standard errors from the optimum is no success") {
  for (const double start : {1.5, 1.6, 1.7, 1.8}) {
    CAPTURE(start);
    double a[4] = {start, 0.5, 0, 1};
    ceres::Problem problem;
    for (int i = 0; i < 48; ++i) {
      const double x = i / 48.0, y = 2 * std::sqrt(1.05 - x) + 0.01 * std::sin(7.0 * i);
      problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<Root, 1, 4>(new Root{x, y}), nullptr, a);
    }
    ceres::Solver::Options options;
    options.max_num_iterations = 300;
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    INFO(summary.message);
    CHECK((summary.termination_type != ceres::CONVERGENCE || summary.final_cost < 11.4));
  }
}

// Ceres ends the process where it evaluates one residual block and a manifold has no Jacobian.
TEST_CASE("steps to points where a manifold has no finite Jacobian are rejected") {
  for (const double start : {1e-5, 1e-3}) {
    CAPTURE(start);
    double x = start;
    ceres::Problem problem;
    problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Logarithm, 2, 1>(new Logarithm), nullptr, &x);
    problem.SetManifold(&x, new Positive);
    ceres::Solver::Options options;
    options.max_num_iterations = 200;
    options.initial_trust_region_radius = 1e16;
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    INFO(summary.message);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
    CHECK(x == doctest::Approx(3.033).epsilon(1e-3));
  }
}

TEST_CASE("a manifold that has no finite Jacobian at the start ends the solve, not the process") {
  double x = 1;
  ceres::Problem problem;
  problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Falls, 1, 1>(new Falls), nullptr, &x);
  problem.SetManifold(&x, new Positive);
  x = 0;  // Ceres tests the Jacobian where the manifold is set
  ceres::Solver::Summary summary;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  CHECK(summary.termination_type == ceres::FAILURE);
  nlsq::Certify(ceres::Solver::Options(), &problem, &summary);
  CHECK(summary.termination_type == ceres::FAILURE);
  CHECK(x == 0);
}

namespace {

// Computes x³ + 1, whose cost has a plateau at 0 and its minimum at -1.
struct Cubic {
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * x[0] * x[0] + 1.0;
    return true;
  }
};

// Computes the residuals of three points and a decay, which has one degree of freedom.
struct ThreePoints {
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::exp;
    const std::array<double, 3> t{0.5, 1.5, 4}, y{2.1, 1.2, 0.4};
    for (std::size_t i = 0; i < 3; ++i) r[i] = x[0] * exp(-x[1] * t[i]) - y[i];
    return true;
  }
};

// Registers points with themselves: a rotation and two shifts, all of them 0 at the minimum.
struct Registration {
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::cos, std::sin;
    for (int i = 0; i < 5; ++i) {
      const double a = 1.3 * i, b = 2 - 0.3 * i * i;
      r[2 * i] = cos(p[0]) * a - sin(p[0]) * b + p[1] - a;
      r[2 * i + 1] = sin(p[0]) * a + cos(p[0]) * b + p[2] - b;
    }
    return true;
  }
};

// Computes x² + y² - 4 and 0.1 (x² - 2 y²) - 1. All derivatives of the cost are 0 at the origin, which is a
// maximum.
struct Circle {
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * x[0] + x[1] * x[1] - 4.0;
    r[1] = 0.1 * (x[0] * x[0] - 2.0 * x[1] * x[1]) - 1.0;
    return true;
  }
};

// Computes the residuals of Wood's function.
struct Wood {
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 10.0 * (x[1] - x[0] * x[0]);
    r[1] = 1.0 - x[0];
    r[2] = std::sqrt(90.0) * (x[3] - x[2] * x[2]);
    r[3] = 1.0 - x[2];
    r[4] = std::sqrt(10.0) * (x[1] + x[3] - 2.0);
    r[5] = (x[1] - x[3]) / std::sqrt(10.0);
    return true;
  }
};

template <class Functor, int R, int N>
ceres::Solver::Summary solve_from(std::array<double, N>& x) {
  ceres::Problem problem;
  problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Functor, R, N>(new Functor), nullptr, x.data());
  ceres::Solver::Options options;
  options.max_num_iterations = 300;
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  return summary;
}

}  // namespace

TEST_CASE("a tolerance that is met on a plateau is no success") {
  for (int k = 1; k <= 200; ++k) {
    CAPTURE(k);
    std::array<double, 1> x{0.02 * k};
    const ceres::Solver::Summary summary = solve_from<Cubic, 1, 1>(x);
    INFO(summary.message);
    CHECK((summary.termination_type != ceres::CONVERGENCE || x[0] == doctest::Approx(-1)));
  }
}

TEST_CASE(
    "a step that is short because of its damping is no success, even if the cost was huge at the start") {
  const std::array<std::array<double, 2>, 8> starts{
      {{-89, -3.4}, {2.3, -4.6}, {-3.6, -4}, {-150, -45}, {-150, -39}, {75, -30}, {-125, 22.8}, {-50, 21}}};
  for (std::array<double, 2> x : starts) {
    CAPTURE(x[0]);
    CAPTURE(x[1]);
    const ceres::Solver::Summary summary = solve_from<ThreePoints, 3, 2>(x);
    INFO(summary.message);
    CHECK((summary.termination_type != ceres::CONVERGENCE || summary.final_cost < 0.0028));
  }
}

TEST_CASE("right derivatives are not called wrong where the answer is 0") {
  for (int k = 0; k < 20; ++k) {
    CAPTURE(k);
    std::array<double, 3> x{0.5 - 0.04 * k, 0.3 + 0.02 * k, -0.4 + 0.03 * k};
    const ceres::Solver::Summary summary = solve_from<Registration, 10, 3>(x);
    INFO(summary.message);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
    CHECK(summary.final_cost < 1e-20);
  }
}

TEST_CASE("a solve leaves a start where no residual depends on any parameter") {
  std::array<double, 2> x{0, 0};
  const ceres::Solver::Summary summary = solve_from<Circle, 2, 2>(x);
  INFO(summary.message);
  CHECK(summary.final_cost < 1);
}

TEST_CASE("Wood's function: a tolerance that is met beside the saddle is no success") {
  for (const std::array<double, 4>& start :
       {std::array<double, 4>{-3, -1, -3, -1}, std::array<double, 4>{-1, 1, -1, 1}}) {
    std::array<double, 4> x = start;
    const ceres::Solver::Summary summary = solve_from<Wood, 6, 4>(x);
    INFO(summary.message);
    CHECK((summary.termination_type != ceres::CONVERGENCE || summary.final_cost < 1e-6));
  }
}

namespace {

// Rotates a point by a quaternion that need not have length 1, and compares it with another one.
struct Rotated {
  std::array<double, 3> from, to;
  template <class T>
  bool operator()(const T* q, T* r) const {
    const T point[3] = {T(from[0]), T(from[1]), T(from[2])};
    ceres::QuaternionRotatePoint(q, point, r);
    for (std::size_t i = 0; i < 3; ++i) r[i] -= to[i];
    return true;
  }
};

}  // namespace

TEST_CASE("a quaternion without a manifold, whose length nothing determines, converges") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const std::array<double, 4> truth{1, 0.3 * normal(random), 0.3 * normal(random), 0.3 * normal(random)};
    std::array<double, 4> q{1, 0.1 * normal(random), 0.1 * normal(random), 0.1 * normal(random)};
    ceres::Problem problem;
    for (int i = 0; i < 6; ++i) {
      std::array<double, 3> from{normal(random), normal(random), normal(random)}, to{};
      ceres::QuaternionRotatePoint(truth.data(), from.data(), to.data());
      for (double& v : to) v += 1e-8 * normal(random);
      problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Rotated, 3, 4>(new Rotated{from, to}), nullptr,
                               q.data());
    }
    ceres::Solver::Summary summary;
    nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
    INFO(summary.message);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
  }
}
