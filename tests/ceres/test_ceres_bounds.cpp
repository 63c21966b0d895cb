// Tests bounds, manifolds and orderings, in ceres::Problem and in nlsq::Problem.
#include "ceres_problems.hpp"

#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>

#include <bal.hpp>

#include <ceres/autodiff_local_parameterization.h>
#include <ceres/rotation.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using ceres_problems::cost, ceres_problems::tight;

namespace {

struct Distance {  // the weighted distance of x from a place
  double place, weight;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = weight * (x[0] - place);
    return true;
  }
};

struct Coupled {  // a quadratic whose free minimum is (4, -3)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] + x[1] - 1.0;
    r[1] = 0.5 * (x[0] - x[1] - 7.0);
    return true;
  }
};

struct Sum {  // a + b = 3 and a - b = 1
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = a[0] + b[0] - 3.0;
    r[1] = a[0] - b[0] - 1.0;
    return true;
  }
};

struct Powell {
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] + 10.0 * x[1];
    r[1] = std::sqrt(5.0) * (x[2] - x[3]);
    r[2] = (x[1] - 2.0 * x[2]) * (x[1] - 2.0 * x[2]);
    r[3] = std::sqrt(10.0) * (x[0] - x[3]) * (x[0] - x[3]);
    return true;
  }
};

struct Turned {  // a direction after a rotation
  double from[3], to[3];
  template <class T>
  bool operator()(const T* q, T* r) const {
    const T p[3] = {T(from[0]), T(from[1]), T(from[2])};
    ceres::QuaternionRotatePoint(q, p, r);
    for (int i = 0; i < 3; ++i) r[i] -= to[i];
    return true;
  }
};
struct EigenTurned {
  double from[3], to[3];
  template <class T>
  bool operator()(const T* q, T* r) const {
    const Eigen::Map<const Eigen::Quaternion<T>> rotation(q);
    const Eigen::Matrix<T, 3, 1> turned = rotation * Eigen::Vector3d(from[0], from[1], from[2]).cast<T>();
    for (int i = 0; i < 3; ++i) r[i] = turned[i] - to[i];
    return true;
  }
};

struct Row {
  std::vector<double> a;
  double b, bend;
  template <class T>
  bool operator()(const T* x, const T* y, T* r) const {
    using std::sin;
    r[0] = T(-b);
    for (int j = 0; j < 4; ++j)
      r[0] += a[static_cast<std::size_t>(j)] * x[j] + a[static_cast<std::size_t>(4 + j)] * y[j];
    r[0] += bend * sin(x[0] + 2.0 * y[1]);
    return true;
  }
};

struct Plus {
  template <class T>
  bool operator()(const T* x, const T* delta, T* out) const {  // this keeps the length
    using std::sqrt;
    T size(0.0), moved(0.0);
    for (int i = 0; i < 4; ++i) size += x[i] * x[i];
    out[0] = x[0] + delta[0];
    out[1] = x[1] + delta[1];
    out[2] = x[2] + delta[2];
    out[3] = x[3];
    for (int i = 0; i < 4; ++i) moved += out[i] * out[i];
    for (int i = 0; i < 4; ++i) out[i] *= sqrt(size / moved);
    return true;
  }
};

template <class F>
void add_directions(ceres::Problem& problem, double* q) {
  const double truth[4] = {0.8, 0.2, -0.4, 0.4};
  std::mt19937 random(4);
  for (int i = 0; i < 12; ++i) {
    F f;
    for (double& v : f.from) v = ceres_problems::uniform(random, -1, 1);
    ceres::QuaternionRotatePoint(truth, f.from, f.to);
    for (double& v : f.to) v += 0.01 * ceres_problems::noise(random);
    problem.AddResidualBlock(cost<true, F, 3, 4>(f), nullptr, q);
  }
}

}  // namespace

TEST_CASE("A bound that is in the way is where the minimum is, to the bit; the rest is free") {
  for (const double upper : {3.0, 1e300}) {
    double x[2] = {0, 0};
    ceres::Problem problem;
    problem.AddResidualBlock(cost<true, Coupled, 2, 2>({}), nullptr, x);
    problem.SetParameterUpperBound(x, 0, upper);
    nlsq::Summary summary;
    nlsq::Solve(tight(), &problem, &summary);
    CHECK(nlsq::is_success(summary.verdict));
    if (upper == 3) {
      CHECK(x[0] == 3);
      // This solves (2 + x1) + 0.25 (x1 + 4) = 0 for x1.
      CHECK(x[1] == doctest::Approx(-2.4).epsilon(1e-9));
      CHECK(summary.message.find("1 numbers are at their bounds") != std::string::npos);
    } else {
      CHECK(x[0] == doctest::Approx(4).epsilon(1e-9));
      CHECK(x[1] == doctest::Approx(-3).epsilon(1e-9));
    }
  }
}

TEST_CASE("A start outside is brought inside, as in Ceres; one at a bound moves off it") {
  double x[2] = {50, -80};
  ceres::Problem problem;
  problem.AddResidualBlock(cost<true, Coupled, 2, 2>({}), nullptr, x);
  for (int i : {0, 1}) problem.SetParameterLowerBound(x, i, -10), problem.SetParameterUpperBound(x, i, 10);
  ceres::Solver::Summary summary;
  nlsq::Solve(tight(), &problem, &summary);
  CHECK(summary.is_constrained);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(x[0] == doctest::Approx(4).epsilon(1e-9));
  CHECK(x[1] == doctest::Approx(-3).epsilon(1e-9));
}

TEST_CASE("Crossed bounds are a failure in Ceres's words and an error in nlsq's") {
  double x[2] = {0, 0};
  ceres::Problem problem;
  problem.AddResidualBlock(cost<true, Coupled, 2, 2>({}), nullptr, x);
  problem.SetParameterLowerBound(x, 0, 2);
  problem.SetParameterUpperBound(x, 0, 1);
  ceres::Solver::Summary summary;
  nlsq::Solve(tight(), &problem, &summary);
  CHECK(summary.termination_type == ceres::FAILURE);
  CHECK(summary.message.find("bounds") != std::string::npos);

  nlsq::Problem ours;
  ours.add_residual_block<2>(Coupled{}, nullptr, {x});
  ours.set_lower_bound(x, 0, 2);
  ours.set_upper_bound(x, 0, 1);
  CHECK_THROWS_AS(nlsq::solve(ours), nlsq::ValidationError);
  CHECK_THROWS_AS(ours.set_upper_bound(x, 2, 1), nlsq::ValidationError);
  CHECK_THROWS_AS(ours.set_upper_bound(x, -1, 1), nlsq::ValidationError);
  CHECK_THROWS_AS(ours.set_lower_bound(x, 0, std::nan("")), nlsq::ValidationError);
  double other = 0;
  CHECK_THROWS_AS(ours.set_lower_bound(&other, 0, 0), nlsq::ValidationError);
}

TEST_CASE("Equal bounds hold a number; infinite ones do not") {
  double x[2] = {0, 0};
  nlsq::Problem problem;
  problem.add_residual_block<2>(Coupled{}, nullptr, {x});
  problem.set_lower_bound(x, 1, 0);
  problem.set_upper_bound(x, 1, 0);
  problem.set_upper_bound(x, 0, std::numeric_limits<double>::infinity());
  const nlsq::Summary summary = nlsq::solve(problem);
  CHECK(nlsq::is_success(summary.verdict));
  CHECK(x[1] == 0);
  CHECK(x[0] == doctest::Approx((1 + 0.25 * 7) / 1.25));
}

TEST_CASE("Random bounded problems: first order holds in the box, and the cost is not above Ceres's") {
  std::mt19937 random(12);
  int at_bounds = 0;
  for (int trial = 0; trial < 60; ++trial) {
    CAPTURE(trial);
    std::vector<Row> rows;
    for (int i = 0; i < 12; ++i) {
      Row row{{}, ceres_problems::uniform(random, -2, 2), trial % 3 ? 0.2 : 0.0};
      for (int j = 0; j < 8; ++j) row.a.push_back(ceres_problems::uniform(random, -1, 1));
      rows.push_back(row);
    }
    double lower[8], upper[8], start[8];
    for (int j = 0; j < 8; ++j) {
      lower[j] = ceres_problems::uniform(random, -1, 0.2);
      upper[j] = lower[j] + ceres_problems::uniform(random, 0.05, 1.5);
      start[j] = trial % 2 ? lower[j] : ceres_problems::uniform(random, lower[j], upper[j]);
    }
    double costs[2];
    for (const bool ours : {false, true}) {
      double x[8];
      std::copy(start, start + 8, x);
      ceres::Problem problem;
      for (const Row& row : rows) problem.AddResidualBlock(cost<true, Row, 1, 4, 4>(row), nullptr, x, x + 4);
      for (int j = 0; j < 8; ++j) {
        problem.SetParameterLowerBound(x + j / 4 * 4, j % 4, lower[j]);
        problem.SetParameterUpperBound(x + j / 4 * 4, j % 4, upper[j]);
      }
      ceres::Solver::Summary summary;
      if (!ours) {
        ceres::Solve(tight(), &problem, &summary);
      } else {
        nlsq::Solve(tight(), &problem, &summary);
        CHECK(summary.termination_type == ceres::CONVERGENCE);
        std::vector<double> gradient;
        problem.Evaluate({}, nullptr, nullptr, &gradient, nullptr);
        for (int j = 0; j < 8; ++j) {
          CHECK(x[j] >= lower[j]);
          CHECK(x[j] <= upper[j]);
          const double slope = gradient[static_cast<std::size_t>(j)];
          if (x[j] == lower[j]) CHECK(slope >= -1e-6);
          else if (x[j] == upper[j]) CHECK(slope <= 1e-6);
          else CHECK(std::fabs(slope) <= 1e-6);
          at_bounds += x[j] == lower[j] || x[j] == upper[j];
        }
      }
      costs[ours] = summary.final_cost;
    }
    CHECK(costs[1] <= costs[0] * (1 + 1e-6) + 1e-12);
  }
  CHECK(at_bounds > 60);
}

TEST_CASE("Powell's function in a box that cuts its minimum off") {
  double costs[2];
  for (const bool ours : {false, true}) {
    double x[4] = {3, -1, 0, 1};
    ceres::Problem problem;
    problem.AddResidualBlock(cost<true, Powell, 4, 4>({}), nullptr, x);
    problem.SetParameterLowerBound(x, 0, 0.5);
    problem.SetParameterUpperBound(x, 2, 0.1);
    ceres::Solver::Options options = tight();
    options.max_num_iterations = 5000;
    ceres::Solver::Summary summary;
    if (ours) nlsq::Solve(options, &problem, &summary);
    else ceres::Solve(options, &problem, &summary);
    costs[ours] = summary.final_cost;
    if (ours) CHECK(x[0] == 0.5);
  }
  CHECK(costs[1] <= costs[0] * (1 + 1e-6));
}

TEST_CASE("Bounds of eliminated blocks: points of a bundle adjustment that may not leave a slab") {
  double costs[2];
  for (const bool ours : {false, true}) {
    bal::Problem scene = bal::generate(6, 150, 900, 9);
    ceres::Problem problem;
    for (const bal::Observation& o : scene.observations) {
      problem.AddResidualBlock(cost<true, bal::Reprojection, 2, 9, 3>({o.x, o.y}), nullptr,
                               scene.camera(o.camera), scene.point(o.point));
    }
    problem.SetParameterBlockConstant(scene.camera(0));
    problem.SetParameterBlockConstant(scene.camera(1));
    for (int p = 0; p < scene.points; ++p) problem.SetParameterUpperBound(scene.point(p), 1, 2.5);
    ceres::Solver::Options options = tight();
    options.linear_solver_type = ceres::DENSE_SCHUR;
    options.max_num_iterations = 100;
    ceres::Solver::Summary summary;
    if (ours) nlsq::Solve(options, &problem, &summary);
    else ceres::Solve(options, &problem, &summary);
    costs[ours] = summary.final_cost;
    if (ours) {
      CHECK(summary.linear_solver_type_used == ceres::DENSE_SCHUR);
      int at_bound = 0;
      for (int p = 0; p < scene.points; ++p) at_bound += scene.point(p)[1] == 2.5;
      CHECK(at_bound > 2);
    }
  }
  CHECK(costs[1] <= costs[0] * (1 + 1e-6));
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_CASE("Manifolds and local parameterizations") {
  for (int way = 0; way < 5; ++way) {
    CAPTURE(way);
    double costs[2];
    for (const bool ours : {false, true}) {
      double q[4] = {0.9, 0.1, 0.1, std::sqrt(1 - 0.83)};
      ceres::Problem problem;
      if (way == 3) std::swap(q[0], q[3]), add_directions<EigenTurned>(problem, q);
      else add_directions<Turned>(problem, q);
      switch (way) {
        case 0: problem.SetManifold(q, new ceres::QuaternionManifold); break;
#if CERES_VERSION_MAJOR == 2 && CERES_VERSION_MINOR < 2
        case 1: problem.SetParameterization(q, new ceres::QuaternionParameterization); break;
        case 2: problem.SetParameterization(q, new ceres::AutoDiffLocalParameterization<Plus, 4, 3>); break;
#endif
        case 3: problem.SetManifold(q, new ceres::EigenQuaternionManifold); break;
        case 4: problem.SetManifold(q, new ceres::SphereManifold<4>); break;
        default: continue;
      }
      ceres::Solver::Summary summary;
      if (ours) nlsq::Solve(tight(), &problem, &summary);
      else ceres::Solve(tight(), &problem, &summary);
      CHECK(summary.IsSolutionUsable());
      CHECK(summary.num_effective_parameters_reduced == 3);
      CHECK(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] == doctest::Approx(1).epsilon(1e-9));
      costs[ours] = summary.final_cost;
    }
    CHECK(costs[1] <= costs[0] * (1 + 1e-6));
  }
  double x[2] = {0, 1};
  ceres::Problem problem;
  problem.AddResidualBlock(cost<true, Coupled, 2, 2>({}), nullptr, x);
  problem.SetManifold(x, new ceres::SubsetManifold(2, {1}));
  ceres::Solver::Summary summary;
  nlsq::Solve(tight(), &problem, &summary);
  CHECK(x[1] == 1);
  CHECK(x[0] == doctest::Approx(0.25 * 8 / 1.25).epsilon(1e-7));
}
#pragma GCC diagnostic pop

TEST_CASE("The first group of a linear_solver_ordering is eliminated first, where it can be") {
  const auto solve = [](int which, const char* message) {
    INFO(message);
    bal::Problem scene = bal::generate(6, 60, 300, 9);
    ceres::Problem problem;
    for (const bal::Observation& o : scene.observations) {
      problem.AddResidualBlock(cost<true, bal::Reprojection, 2, 9, 3>({o.x, o.y}), nullptr,
                               scene.camera(o.camera), scene.point(o.point));
    }
    ceres::Solver::Options options = tight();
    options.linear_solver_type = ceres::DENSE_SCHUR;
    options.max_num_iterations = 5;
    options.linear_solver_ordering = std::make_shared<ceres::ParameterBlockOrdering>();
    for (int p = 0; p < scene.points; ++p)
      options.linear_solver_ordering->AddElementToGroup(scene.point(p), which == 1 && p < 20 ? 1 : 0);
    for (int c = 0; c < scene.cameras; ++c)
      options.linear_solver_ordering->AddElementToGroup(scene.camera(c), which == 2 && c == 0 ? 0 : 1);
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    CHECK(summary.linear_solver_ordering_given.size() == 2);
    return summary;
  };
  const ceres::Solver::Summary points = solve(0, "points first");
  CHECK(points.linear_solver_ordering_used == std::vector<int>{60, 6});
  CHECK(points.message.find("linear_solver_ordering") == std::string::npos);
  const ceres::Solver::Summary some = solve(1, "some points first");
  CHECK(some.linear_solver_ordering_used == std::vector<int>{40, 26});
  // A camera sees points, so the group cannot be eliminated.
  const ceres::Solver::Summary mixed = solve(2, "a camera among them");
  CHECK(mixed.linear_solver_ordering_used == std::vector<int>{60, 6});
  CHECK(mixed.message.find("linear_solver_ordering") != std::string::npos);
}

TEST_CASE(
    "A linear_solver_ordering that does not name the blocks of the problem is answered in the message") {
  double a = 1, b = 1, elsewhere = 1;
  const auto message = [&](std::vector<double*> first, std::vector<double*> second) {
    a = b = 1;
    ceres::Problem problem;
    problem.AddResidualBlock(cost<true, Sum, 2, 1, 1>({}), nullptr, &a, &b);
    ceres::Solver::Options options = tight();
    options.linear_solver_ordering = std::make_shared<ceres::ParameterBlockOrdering>();
    for (double* block : first) options.linear_solver_ordering->AddElementToGroup(block, 0);
    for (double* block : second) options.linear_solver_ordering->AddElementToGroup(block, 1);
    ceres::Solver::Summary summary;
    nlsq::Solve(options, &problem, &summary);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
    return summary.message;
  };
  CHECK(message({&a}, {}).find("it leaves out 1 of 2 parameter blocks") != std::string::npos);
  CHECK(message({&a}, {&elsewhere}).find("it leaves out 1 of 2 parameter blocks") != std::string::npos);
  CHECK(message({&a, &b}, {&elsewhere}).find("it names 1 blocks that are not in the problem") !=
        std::string::npos);
  CHECK(message({&a, &b}, {}).find("linear_solver_ordering") == std::string::npos);
  CHECK(message({&a}, {&b}).find("linear_solver_ordering") == std::string::npos);
}
