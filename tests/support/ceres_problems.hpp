// Makes Ceres problems as user programs write them. Each can be built again for every solve, by Ceres and by
// nlsq, with Ceres's own cost functions or with nlsq's.
#pragma once

#include <nlsq/ceres.hpp>

#include <ceres/ceres.h>

#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace ceres_problems {

// Makes an AutoDiffCostFunction of nlsq or of Ceres.
template <bool kOurs, class F, int r, int... n>
ceres::CostFunction* cost(F functor) {
  if constexpr (kOurs) return new nlsq::AutoDiffCostFunction<F, r, n...>(new F(std::move(functor)));
  else return new ceres::AutoDiffCostFunction<F, r, n...>(new F(std::move(functor)));
}

// Holds the problem and the parameters that it refers to.
struct Made {
  std::vector<double> x;
  std::unique_ptr<ceres::Problem> problem = std::make_unique<ceres::Problem>();

  explicit Made(std::vector<double> start) : x(std::move(start)) {}
  double cost() const {
    double value = 0;
    problem->Evaluate({}, &value, nullptr, nullptr, nullptr);
    return value;
  }
};

inline ceres::Solver::Options tight() {
  ceres::Solver::Options options;
  options.function_tolerance = 1e-14;
  options.gradient_tolerance = 1e-14;
  options.parameter_tolerance = 1e-14;
  options.max_num_iterations = 500;
  options.logging_type = ceres::SILENT;
  return options;
}

inline double uniform(std::mt19937& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
}
// Returns a roughly normal number, the sum of twelve uniform ones.
inline double noise(std::mt19937& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform(random, 0, 1);
  return sum;
}

}  // namespace ceres_problems
