// Tests starts with zeros, where functions often take a branch that they leave with the first step.
#include "ceres_problems.hpp"

#include <ceres/rotation.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

struct Calls {
  int values = 0, derivatives = 0;
  template <class T>
  void count() {
    if (std::is_same_v<T, double>) ++values;
    else if (!std::is_same_v<T, nlsq::Traced>) ++derivatives;
  }
};

// Measures the difference of a point that a pose moves from where it was seen.
struct Moved {
  double point[3], seen[3];
  Calls* calls;
  template <class T>
  bool operator()(const T* pose, T* r) const {
    calls->count<T>();
    const T from[3] = {T(point[0]), T(point[1]), T(point[2])};
    T to[3];
    ceres::AngleAxisRotatePoint(pose, from, to);
    for (int i = 0; i < 3; ++i) r[i] = to[i] + pose[3 + i] - seen[i];
    return true;
  }
};

constexpr int kPoints = 200;

void add_points(ceres::Problem& problem, double* pose, Calls& calls) {
  const double truth[6] = {0.1, -0.2, 0.05, 0.1, 0.2, 5};
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  Calls ignored;
  for (int i = 0; i < kPoints; ++i) {
    Moved moved{{normal(random), normal(random), normal(random)}, {0, 0, 0}, &ignored};
    double r[3];
    moved(truth, r);
    for (int k = 0; k < 3; ++k) moved.seen[k] = r[k] + 0.01 * normal(random);
    moved.calls = &calls;
    problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<Moved, 3, 6>(new Moved(moved)), nullptr, pose);
  }
}

}  // namespace

// A rotation of 0 has no axis, so that its function takes a branch of its own. The program that was recorded
// there was of no use after the first step, and the functions were called 16 times without derivatives and 7
// times with them, as long as a solve without programs takes.
TEST_CASE(
    "a pose that starts without a rotation is solved by programs, in the first solve and in later ones") {
  double pose[6];
  Calls calls;
  ceres::Problem problem;
  add_points(problem, pose, calls);
  for (int solve = 0; solve < 3; ++solve) {
    CAPTURE(solve);
    std::fill_n(pose, 6, 0.0);
    calls = {};
    ceres::Solver::Summary summary;
    nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
    INFO(summary.message);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
    CHECK(pose[0] == doctest::Approx(0.1).epsilon(0.05));
    CHECK(calls.values <= 6 * kPoints);
    CHECK(calls.derivatives <= 3 * kPoints);
  }
}

namespace {

enum class Beside { throws, fails, infinite };

// A line through the origin of p[0], whose offset p[1] must be 0 at the first call.
template <Beside beside>
struct Picky {
  double x, y;
  bool* called;
  template <class T>
  bool operator()(const T* p, T* r) const {
    if (!*called && !(p[1] == T(0))) {
      if (beside == Beside::throws) throw std::runtime_error("an offset");
      if (beside == Beside::fails) return false;
      r[0] = p[1] / T(0);
      return true;
    }
    *called = true;
    r[0] = p[0] * T(x) + p[1] - T(y);
    return true;
  }
};

template <Beside beside>
void solve_picky() {
  bool called = false;
  double p[2] = {1, 0};
  ceres::Problem problem;
  for (int i = 0; i < 50; ++i) {
    const double x = 0.1 * i, y = 2 * x + 0.3 + 0.01 * std::sin(7.0 * i);
    problem.AddResidualBlock(
        new nlsq::AutoDiffCostFunction<Picky<beside>, 1, 2>(new Picky<beside>{x, y, &called}), nullptr, p);
  }
  ceres::Solver::Summary summary;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  INFO(summary.message);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(p[0] == doctest::Approx(2).epsilon(0.01));
}

}  // namespace

TEST_CASE("functions that cannot be called beside a start of 0 are recorded there") {
  solve_picky<Beside::throws>();
  solve_picky<Beside::fails>();
  solve_picky<Beside::infinite>();
}

namespace {

struct Signed {  // takes another branch where p[1] is 0
  double x, y;
  Calls* calls;
  template <class T>
  bool operator()(const T* p, T* r) const {
    calls->count<T>();
    r[0] = p[1] == T(0) ? p[0] * T(x) - T(y) : p[0] * T(x) + exp(p[1]) - T(1) - T(y);
    return true;
  }
};

}  // namespace

TEST_CASE("a 0 that steps do not move, or that is a bound, stays 0 while functions are recorded") {
  for (const bool held : {true, false}) {
    CAPTURE(held);
    Calls calls;
    double p[2] = {1, 0};
    ceres::Problem problem;
    for (int i = 0; i < kPoints; ++i) {
      const double x = 0.1 * i, y = 2 * x - 0.3 + 0.01 * std::sin(7.0 * i);
      problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<Signed, 1, 2>(new Signed{x, y, &calls}),
                               nullptr, p);
    }
    if (held) problem.SetManifold(p, new ceres::SubsetManifold(2, {1}));
    else problem.SetParameterLowerBound(p, 1, 0);
    ceres::Solver::Summary summary;
    nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
    INFO(summary.message);
    CHECK(summary.termination_type == ceres::CONVERGENCE);
    CHECK(p[1] == 0);
    CHECK(calls.derivatives <= 3 * kPoints);
  }
}

namespace {

struct Narrow {  // may only be called with |p[1]| <= 1e-5
  double x, y;
  bool* outside;
  template <class T>
  bool operator()(const T* p, T* r) const {
    if (p[1] > T(1e-5) || p[1] < T(-1e-5)) *outside = true;
    r[0] = p[0] * T(x) + exp(p[1] * T(x)) - T(y);
    return true;
  }
};

}  // namespace

TEST_CASE("functions are not recorded outside of narrow bounds around 0") {
  bool outside = false;
  double p[2] = {1, 0};
  ceres::Problem problem;
  for (int i = 0; i < kPoints; ++i) {
    const double x = 0.01 * i, y = 2 * x + 1 + 0.01 * std::sin(7.0 * i);
    problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<Narrow, 1, 2>(new Narrow{x, y, &outside}),
                             nullptr, p);
  }
  problem.SetParameterLowerBound(p, 1, -1e-5);
  problem.SetParameterUpperBound(p, 1, 1e-5);
  ceres::Solver::Summary summary;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK_FALSE(outside);
}

namespace {

struct OnBound {  // takes another branch where p[0] is 0
  double x, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    const T bent = p[0] > T(0) ? p[0] * sin(p[0] * T(x)) * T(0.1) : p[0] * p[0] * T(0.05 * x);
    r[0] = bent + p[0] * T(x) + exp(p[1] * T(x)) * cos(p[2] * T(x)) + p[2] - T(y);
    return true;
  }
};

void add_rows(ceres::Problem& problem, double* p) {
  for (int i = 0; i < 300; ++i) {
    const double x = 0.01 * i, y = 0.5 * x + std::exp(0.3 * x) + 0.1 + 0.1 * std::sin(7.0 * i);
    problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<OnBound, 1, 3>(new OnBound{x, y}), nullptr, p);
  }
}

}  // namespace

TEST_CASE("a solve after another has the bits of a first one, with a 0 on a bound beside a free 0") {
  double p[3] = {0.2, 0.1, 0.3}, q[3] = {0, 0, 0.3};
  ceres::Problem kept, fresh;
  add_rows(kept, p);
  add_rows(fresh, q);
  ceres::Solver::Summary summary;
  nlsq::Solve(ceres::Solver::Options(), &kept, &summary);
  p[0] = p[1] = 0, p[2] = 0.3;
  kept.SetParameterLowerBound(p, 0, 0);
  fresh.SetParameterLowerBound(q, 0, 0);
  nlsq::Solve(ceres::Solver::Options(), &kept, &summary);
  nlsq::Solve(ceres::Solver::Options(), &fresh, &summary);
  for (int i = 0; i < 3; ++i) CHECK(p[i] == q[i]);
}

namespace {

struct Unrecorded : Moved {  // looks into a jet, so it cannot be recorded
  template <class T>
  bool operator()(const T* pose, T* r) const {
    if (!Moved::operator()(pose, r)) return false;
    if constexpr (requires { r[0].a; }) return std::isfinite(r[0].a);
    return true;
  }
};

}  // namespace

TEST_CASE("a function that cannot be recorded does not take the programs of others that start at 0") {
  double pose[6] = {0, 0, 0, 0, 0, 0};
  Calls calls, others;
  ceres::Problem problem;
  add_points(problem, pose, calls);
  Unrecorded one;
  static_cast<Moved&>(one) = {{1, 2, 3}, {1, 2, 8}, &others};
  problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<Unrecorded, 3, 6>(new Unrecorded(one)), nullptr,
                           pose);
  ceres::Solver::Summary summary;
  nlsq::Solve(ceres::Solver::Options(), &problem, &summary);
  INFO(summary.message);
  CHECK(summary.termination_type == ceres::CONVERGENCE);
  CHECK(calls.values <= 6 * kPoints);
  CHECK(calls.derivatives <= 3 * kPoints);
}
