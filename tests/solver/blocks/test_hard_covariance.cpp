// Tests covariances of blocks that are called, and of hundreds of numbers. They are right or not given, and
// come soon.
#include <nlsq/covariance.hpp>
#include "support/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <span>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// This is a peak whose height, place and width are numbers beside offsets.
struct Peak {
  static constexpr int residuals = 1;
  double x, y, offsets[3];
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    const T away = (x - (p[1] - offsets[1])) / (p[2] - offsets[2]);
    r[0] = (p[0] - offsets[0]) * exp(-away * away) - y;
    return true;
  }
};

// The same, but it accepts double alone.
struct CalledPeak {
  static constexpr int residuals = 1;
  Peak peak;
  bool operator()(const double* p, double* r) const { return peak(p, r); }
};

// Returns the largest difference, relative to the standard errors of its row and column.
double relative_distance(const Matrix& a, const Matrix& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < a.columns(); ++j)
      largest = std::max(largest, std::fabs(a(i, j) - b(i, j)) / std::sqrt(b(i, i) * b(j, j)));
  }
  return largest;
}

}  // namespace

// Steps of differences that are good enough for a step of the solve gave covariances of three times the right
// ones, with an error of 1e-9.
TEST_CASE("covariances by differences beside offsets are right or not given") {
  Random random(11);
  const auto between = [&](double least, double most) { return least + (most - least) * random.uniform(); };
  int determined = 0;
  constexpr int kProblems = 60;
  for (int problem = 0; problem < kProblems; ++problem) {
    Peak peak{};
    for (double& offset : peak.offsets) offset = random.below(2) == 0 ? 0 : problem % 2 ? 1e9 : 1e6;
    const double truth[3] = {between(0.5, 2), between(-1, 1), between(0.5, 2)};
    double p[3];
    for (int i = 0; i < 3; ++i) p[i] = truth[i] + peak.offsets[i];
    Problem with_derivatives, called;
    for (int k = 0; k < 30; ++k) {
      peak.x = between(-2, 2);
      const double away = (peak.x - truth[1]) / truth[2];
      peak.y = truth[0] * std::exp(-away * away) + between(-0.05, 0.05);
      with_derivatives.add_residual_block(peak, nullptr, {p});
      called.add_residual_block(CalledPeak{peak}, nullptr, {p});
    }
    const BlockCovariance right = covariance(with_derivatives, {p}), found = covariance(called, {p});
    REQUIRE(right.determined);
    if (!found.determined) continue;
    ++determined;
    CHECK(relative_distance(found.block(p), right.block(p)) < std::max(1e-6, 10 * found.error));
  }
  CHECK(determined >= kProblems - 2);
}

namespace {

struct Combination {
  static constexpr int residuals = 2;
  double of_pose[6], of_point[6], weight;
  template <class T>
  bool operator()(const T* pose, const T* point, T* r) const {
    for (int k = 0; k < 2; ++k) {
      r[k] = T(-1.0);
      for (int i = 0; i < 3; ++i) r[k] += of_pose[3 * k + i] * pose[i] + of_point[3 * k + i] * point[i];
      r[k] *= weight;
    }
    return true;
  }
};

// Points that are each seen from four poses of a chain. If only differences of pose and point are seen, three
// directions are free.
struct Network {
  static constexpr int poses = 60, points = 270, numbers = 3 * (poses + points);
  std::vector<double> x = std::vector<double>(static_cast<std::size_t>(numbers));
  Problem problem;

  Network(double heaviest, bool differences) {
    Random random(5);
    const auto add = [&](int a, int b) {
      Combination row{};
      for (double& c : row.of_pose) c = random.of_either_sign(0, 1);
      for (double& c : row.of_point) c = random.of_either_sign(0, 1);
      for (int i = 0; differences && i < 6; ++i) row.of_point[i] = -row.of_pose[i];
      row.weight = random.below(50) == 0 ? heaviest : 1;
      problem.add_residual_block(row, nullptr, {block(a), block(b)});
    };
    for (int point = 0; point < points; ++point) {
      for (int k = 0; k < 4; ++k) add((point * poses / points + k) % poses, poses + point);
    }
    for (int pose = 0; pose < poses; ++pose) add(pose, (pose + 1) % poses);
  }

  BlockRef block(int number) { return std::span(x).subspan(static_cast<std::size_t>(3 * number), 3); }
};

}  // namespace

// Beside rows of large weight the elimination of points loses digits. Covariances were refined only once, and
// J was factored instead, which takes a thousand times as long.
TEST_CASE("rows of large weight leave six digits, and J need not be factored") {
  Network network(1e3, false);
  const std::clock_t before = std::clock();
  const BlockCovariance c =
      covariance(network.problem, {&network.x[0], &network.x[90], &network.x.back() - 2});
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 4);
  CHECK(c.determined);
  CHECK(c.error < 1e-6);
}

// All singular values of J were computed, which took 25 s of processor time.
TEST_CASE("a gauge of hundreds of numbers is found without singular values") {
  Network network(1, true);
  const std::clock_t before = std::clock();
  const BlockCovariance c = covariance(network.problem, {&network.x[0], &network.x.back() - 2});
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 4);
  CHECK_FALSE(c.determined);
  CHECK(c.rank == Network::numbers - 3);
  CHECK(std::isnan(c.block(&network.x[0])(0, 0)));
}

TEST_CASE("a variance beyond the range of float64 is not determined") {
  double a[2] = {1, 1};
  Problem problem;
  for (int i = 0; i < 4; ++i) {
    problem.add_residual_block([i](const auto* p) { return 1e-155 * (p[0] * (1.0 + i) - 3.0); }, nullptr,
                               {a});
    problem.add_residual_block([i](const auto* p) { return p[1] - 3.0 - i; }, nullptr, {a});
  }
  const BlockCovariance c = covariance(problem, {&a[0]});
  CHECK_FALSE(c.determined);
  CHECK(c.message.find("outside the range of float64") != std::string::npos);
  CHECK(std::isnan(c.block(&a[0])(0, 0)));
}
