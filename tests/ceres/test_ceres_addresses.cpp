// Tests that a Ceres program has the same bits if its parameter blocks lie at other addresses.
#include <nlsq/ceres.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace {

struct Distance {
  double length;
  template <class T>
  bool operator()(const T* p, const T* q, T* r) const {
    using std::sqrt;
    const T u = p[0] - q[0], v = p[1] - q[1];
    r[0] = sqrt(u * u + v * v) - T(length);
    return true;
  }
};

constexpr std::size_t kPoints = 9;

// Solves a network of points and distances whose point i is stored at place[i] of one array. Returns the
// solution in the order of the points.
std::vector<double> solved(const std::vector<std::size_t>& place, ceres::LinearSolverType type) {
  std::array<double, 2 * kPoints> memory{};
  const auto at = [&](std::size_t i) { return memory.data() + 2 * place[i]; };
  std::array<std::array<double, 2>, kPoints> truth{};
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double k = static_cast<double>(i);
    truth[i] = {3 * std::sin(2.1 * k), 3 * std::cos(1.3 * k)};
    at(i)[0] = truth[i][0] + 0.4 * std::sin(9 * k), at(i)[1] = truth[i][1] + 0.4 * std::cos(5 * k);
  }
  ceres::Problem problem;
  for (std::size_t i = 0; i < kPoints; ++i) problem.AddParameterBlock(at(i), 2);
  for (std::size_t i = 0; i < kPoints; ++i) {
    for (std::size_t j = i + 1; j < kPoints; ++j) {
      const double noise = 0.05 * std::sin(3.0 * static_cast<double>(i) + static_cast<double>(j));
      const double length = std::hypot(truth[i][0] - truth[j][0], truth[i][1] - truth[j][1]) + noise;
      problem.AddResidualBlock(new nlsq::AutoDiffCostFunction<Distance, 1, 2, 2>(new Distance{length}),
                               nullptr, at(i), at(j));
    }
  }
  problem.SetParameterBlockConstant(at(0));
  problem.SetParameterBlockConstant(at(1));
  ceres::Solver::Options options;
  options.logging_type = ceres::SILENT;
  options.linear_solver_type = type;
  ceres::Solver::Summary summary;
  nlsq::Solve(options, &problem, &summary);
  std::vector<double> out;
  for (std::size_t i = 0; i < kPoints; ++i) out.insert(out.end(), at(i), at(i) + 2);
  return out;
}

}  // namespace

TEST_CASE("the addresses of the parameter blocks do not change a bit") {
  for (const auto type : {ceres::DENSE_QR, ceres::SPARSE_NORMAL_CHOLESKY, ceres::ITERATIVE_SCHUR}) {
    std::vector<std::size_t> place(kPoints);
    for (std::size_t i = 0; i < kPoints; ++i) place[i] = i;
    const std::vector<double> first = solved(place, type);
    for (unsigned seed = 1; seed <= 8; ++seed) {
      std::shuffle(place.begin(), place.end(), std::mt19937(seed));
      CHECK(solved(place, type) == first);
    }
  }
}
