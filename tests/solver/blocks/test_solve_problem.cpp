// Solves problems of parameter and residual blocks whose optima are known in advance or by other means.
#include <bal.hpp>

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "bal_blocks.hpp"

using namespace nlsq;
using namespace bal_blocks;

namespace {

struct Curve {
  static constexpr int residuals = 1;
  double x, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = p[0] * exp(-p[1] * x) + p[2] - y;
    return true;
  }
};

struct Point {
  static constexpr int residuals = 1;
  double x, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] + p[1] * x - y;
    return true;
  }
};

// Computes a curved valley like Rosenbrock's. `turn` scales its curvature.
struct Valley {
  static constexpr int residuals = 2;
  double turn;
  template <class T>
  bool operator()(const T* camera, const T* point, T* r) const {
    r[0] = 30.0 * (point[0] - camera[0] * camera[0] * turn);
    r[1] = 1.0 - camera[0] + 0.1 * (point[0] - turn);
    return true;
  }
};

struct Between {
  static constexpr int residuals = 3;
  double dx, dy, turn;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::cos, std::sin;
    const T c = cos(a[2]), s = sin(a[2]), x = b[0] - a[0], y = b[1] - a[1];
    r[0] = c * x + s * y - dx;
    r[1] = c * y - s * x - dy;
    r[2] = b[2] - a[2] - turn;
    return true;
  }
};

}  // namespace

TEST_CASE("A curve as residual blocks ends where curve_fit ends") {
  std::vector<double> x, y;
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    x.push_back(0.05 * i);
    y.push_back(2.5 * std::exp(-0.6 * x.back()) + 0.5 +
                0.01 * (static_cast<double>(random() % 2001) / 1000 - 1));
  }
  double p[3] = {1, 1, 0};
  Problem problem;
  for (std::size_t i = 0; i < x.size(); ++i) problem.add_residual_block(Curve{x[i], y[i]}, nullptr, {p});
  const Summary summary = solve(problem);
  CHECK(summary.verdict == Verdict::converged);
  CHECK(summary.certificate.rank == 3);
  CHECK(summary.evaluator == "graph");
  const FitResult fit = curve_fit(
      [](const auto& t, const auto& q) {
        using std::exp;
        return q[0] * exp(-q[1] * t) + q[2];
      },
      x, y, {1.0, 1.0, 0.0});
  for (int j = 0; j < 3; ++j)
    CHECK(p[j] == doctest::Approx(fit.parameters[static_cast<std::size_t>(j)]).epsilon(1e-9));
  CHECK(summary.final_cost == doctest::Approx(fit.summary.final_cost).epsilon(1e-12));
  CHECK(problem.evaluate().cost == doctest::Approx(summary.final_cost).epsilon(1e-12));
}

TEST_CASE("Powell's singular function by four blocks of one number each") {
  double a = 3, b = -1, c = 0, d = 1;
  double *pa = &a, *pb = &b, *pc = &c, *pd = &d;
  Problem problem;
  for (double* p : {pa, pb, pc, pd}) problem.add_parameter_block(p, 1);
  problem.add_residual_block([](const auto* u, const auto* v) { return u[0] + 10.0 * v[0]; }, nullptr,
                             {pa, pb});
  problem.add_residual_block([](const auto* u, const auto* v) { return std::sqrt(5.0) * (u[0] - v[0]); },
                             nullptr, {pc, pd});
  problem.add_residual_block(
      [](const auto* u, const auto* v) { return (u[0] - 2.0 * v[0]) * (u[0] - 2.0 * v[0]); }, nullptr,
      {pb, pc});
  problem.add_residual_block(
      [](const auto* u, const auto* v) { return std::sqrt(10.0) * (u[0] - v[0]) * (u[0] - v[0]); }, nullptr,
      {pa, pd});
  const Summary summary = solve(problem);
  CHECK(summary.final_cost <= 1e-20);
  CHECK(std::fabs(a) + std::fabs(b) + std::fabs(c) + std::fabs(d) <= 1e-4);
  INFO(summary.message);
  CHECK(is_success(summary.verdict));
}

TEST_CASE("Bundle adjustment: f32 work, f64's end, and gauge freedom is named") {
  bal::Problem scene = bal::generate(8, 150, 900, 1), other = scene;
  Problem adaptive, f64;
  add_all(adaptive, scene);
  add_all(f64, other);
  const Summary low = solve(adaptive, with("auto,gate=off")), high = solve(f64, with("f64"));
  INFO(low.trace_report());
  CHECK(low.precision.counters.rows_f32 > 0);
  CHECK(high.precision.counters.rows_f32 == 0);
  CHECK(low.initial_cost == high.initial_cost);
  CHECK(low.final_cost == doctest::Approx(high.final_cost).epsilon(1e-9));
  // There are 900 observations with noise of 0.5 in each coordinate; the parameters are subtracted.
  const double freedom = 2 * 900 - (9 * 8 + 3 * 150 - 7);
  CHECK(low.final_cost == doctest::Approx(0.5 * 0.25 * freedom).epsilon(0.15));
  for (const Summary* s : {&low, &high}) {
    CHECK(s->verdict == Verdict::rank_deficient);
    CHECK(s->certificate.rank == 9 * 8 + 3 * 150 - 7);
    CHECK(s->certificate.recheck_passed);
    CHECK(s->evaluator == "graph");
  }
  CHECK(adaptive.evaluate().cost == doctest::Approx(low.final_cost).epsilon(1e-12));
}

TEST_CASE("With the gauge held by constants and a subset, the data determine everything") {
  bal::Problem scene = bal::generate(8, 150, 900, 2, 0.5, 1e-3);
  Problem problem;
  add_all(problem, scene);
  const std::vector<double> first(scene.camera(0), scene.camera(0) + 9);
  const double held = scene.camera(4)[5];
  problem.set_constant(scene.camera(0));
  problem.set_manifold(scene.camera(4), subset_manifold(9, {5}));
  const Summary summary = solve(problem, with("auto,gate=off"));
  INFO(summary.trace_report());
  CHECK(summary.verdict == Verdict::converged);
  CHECK(summary.certificate.rank == 9 * 7 - 1 + 3 * 150);
  CHECK(std::vector<double>(scene.camera(0), scene.camera(0) + 9) == first);
  CHECK(scene.camera(4)[5] == held);
}

TEST_CASE("Any number of threads gives the same bits") {
  for (const char* policy : {"f64", "auto,gate=off"}) {
    std::vector<double> reference;
    double cost = 0;
    for (const int threads : {1, 2, 3, 8}) {
      bal::Problem scene = bal::generate(10, 1500, 9000, 3);
      Problem problem;
      add_all(problem, scene, Loss::huber(1));
      SolverOptions options = with(policy, threads);
      options.max_iterations = 8;
      const Summary summary = solve(problem, options);
      if (threads == 1) {
        reference = scene.parameters;
        cost = summary.final_cost;
      }
      CHECK(scene.parameters == reference);
      CHECK(summary.final_cost == cost);
    }
  }
}

TEST_CASE("A robust loss leaves outliers out: the weighted gradient vanishes") {
  std::vector<Point> points;
  std::mt19937 random(4);
  for (int i = 0; i < 60; ++i)
    points.push_back({0.1 * i, 1 + 2 * 0.1 * i + 0.02 * (static_cast<double>(random() % 2001) / 1000 - 1) +
                                   (i % 7 == 0 ? 5.0 : 0.0)});
  for (const Loss& loss :
       {Loss::huber(0.05), Loss::cauchy(0.05), Loss::soft_l1(0.05), Loss::arctan(0.1), Loss::tukey(0.3)}) {
    double p[2] = {1.2, 1.9};
    Problem problem;
    for (const Point& point : points) problem.add_residual_block(point, loss, {p});
    const Summary summary = solve(problem);
    CHECK(summary.final_cost <= summary.initial_cost);
    CHECK(summary.final_cost == doctest::Approx(problem.evaluate().cost));
    double g0 = 0, g1 = 0, size = 0;
    for (const Point& point : points) {
      double r;
      point(p, &r);
      const double weight = loss(r * r).slope;
      g0 += weight * r, g1 += weight * r * point.x, size += std::fabs(weight * r) * (1 + point.x);
    }
    CHECK(std::fabs(g0) <= 1e-6 * size);
    CHECK(std::fabs(g1) <= 1e-6 * size);
    CHECK(p[0] == doctest::Approx(1).epsilon(0.05));
    CHECK(p[1] == doctest::Approx(2).epsilon(0.05));
  }
}

TEST_CASE("A rotation on its manifold: unit quaternions of either order stay of length one") {
  const double truth[4] = {0.8, 0.36, -0.48, 0};  // w, x, y, z
  std::mt19937 random(5);
  const auto number = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  for (const bool eigen : {false, true}) {
    double q[4] = {eigen ? 0.0 : 1.0, 0, 0, eigen ? 1.0 : 0.0};
    Problem problem;
    for (int i = 0; i < 20; ++i) {
      const double p[3] = {number(), number(), number()};
      const auto rotate = [](const auto& w, const auto& x, const auto& y, const auto& z, const auto* v,
                             auto* out) {
        const auto tx = 2.0 * (y * v[2] - z * v[1]), ty = 2.0 * (z * v[0] - x * v[2]),
                   tz = 2.0 * (x * v[1] - y * v[0]);
        out[0] = v[0] + w * tx + y * tz - z * ty;
        out[1] = v[1] + w * ty + z * tx - x * tz;
        out[2] = v[2] + w * tz + x * ty - y * tx;
      };
      double seen[3];
      rotate(truth[0], truth[1], truth[2], truth[3], p, seen);
      problem.add_residual_block<3>(
          [=](const auto* u, auto* r) {
            const int w = eigen ? 3 : 0, v = eigen ? 0 : 1;
            rotate(u[w], u[v], u[v + 1], u[v + 2], p, r);
            for (int k = 0; k < 3; ++k) r[k] -= seen[k];
            return true;
          },
          nullptr, {q});
    }
    problem.set_manifold(q, eigen ? eigen_quaternion_manifold() : quaternion_manifold());
    const Summary summary = solve(problem);
    CHECK(summary.final_cost <= 1e-25);
    CHECK(std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) ==
          doctest::Approx(1).epsilon(1e-14));
    for (int k = 0; k < 4; ++k)
      CHECK(q[eigen ? (k + 3) % 4 : k] == doctest::Approx(truth[k]).epsilon(1e-10).scale(1));
  }
}

TEST_CASE("A chain of planar poses with closures: the sparse factor ends where first order holds") {
  std::vector<std::array<double, 3>> poses(1500);
  std::mt19937 random(6);
  const auto noise = [&] { return 0.01 * (static_cast<double>(random() % 2001) / 1000 - 1); };
  Problem problem;
  for (std::size_t i = 0; i < poses.size(); ++i)
    poses[i] = {std::cos(0.02 * static_cast<double>(i)) * 50, std::sin(0.02 * static_cast<double>(i)) * 50,
                0.02 * static_cast<double>(i)};
  const auto connect = [&](std::size_t i, std::size_t j) {
    double r[3];
    Between{0, 0, 0}(poses[i].data(), poses[j].data(), r);
    problem.add_residual_block(Between{r[0] + noise(), r[1] + noise(), r[2] + 0.1 * noise()}, nullptr,
                               {poses[i], poses[j]});
  };
  for (std::size_t i = 1; i < poses.size(); ++i) connect(i - 1, i);
  for (std::size_t i = 0; i + 400 < poses.size(); i += 40) connect(i, i + 314);
  for (auto& pose : poses) pose[0] += noise(), pose[1] += noise();
  problem.set_constant(poses[0].data());
  const Summary summary = solve(problem, with("auto", 2));
  INFO(summary.trace_report());
  CHECK(summary.final_cost < 0.5);
  CHECK(summary.final_cost < 0.01 * summary.initial_cost);
  CHECK(summary.certificate.gradient_norm < 1e-6);
}

TEST_CASE(
    "Geodesic acceleration takes fewer steps along bent valleys to the same minimum, in the same bits for "
    "any number of threads") {
  struct Outcome {
    double camera, cost;
    int steps;
    bool operator==(const Outcome&) const = default;
  };
  const auto run = [](Geodesic geodesic, int threads, const char* policy) {
    double camera = -1.2;
    std::array<double, 8> points;
    points.fill(1);
    Problem problem;
    problem.add_parameter_block(&camera, 1);
    for (double& point : points) problem.add_parameter_block(&point, 1);
    for (std::size_t i = 0; i < points.size(); ++i) {
      problem.add_residual_block(Valley{1 + 0.05 * static_cast<double>(i)}, nullptr, {&camera, &points[i]});
    }
    SolverOptions options = with(policy, threads);
    options.geodesic = geodesic;
    const Summary summary = solve(problem, options);
    INFO(summary.message);
    CHECK(is_success(summary.verdict));
    return Outcome{camera, summary.final_cost, summary.accepted + summary.rejected};
  };
  for (const char* policy : {"auto", "f64"}) {
    const Outcome never = run(Geodesic::never, 1, policy), automatic = run(Geodesic::automatic, 1, policy);
    CHECK(automatic.steps < never.steps);
    CHECK(automatic.cost == doctest::Approx(never.cost).epsilon(1e-9).scale(1));
    CHECK(automatic.camera == doctest::Approx(never.camera).epsilon(1e-6));
    CHECK(run(Geodesic::automatic, 2, policy) == automatic);
    CHECK(run(Geodesic::always, 1, policy).cost == doctest::Approx(never.cost).epsilon(1e-9).scale(1));
  }
}

TEST_CASE("Blocks that are removed have no effect on a solve") {
  double p[1] = {0};
  Problem problem;
  const auto at = [&](double y) {
    return problem.add_residual_block([y](const auto* q) { return q[0] - y; }, nullptr, {p});
  };
  const ResidualBlockId one = at(1);
  at(3);
  solve(problem);
  CHECK(p[0] == doctest::Approx(2));
  problem.remove_residual_block(one);
  at(7);
  solve(problem);
  CHECK(p[0] == doctest::Approx(5));
}
