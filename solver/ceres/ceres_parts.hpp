// Adapters that present Ceres's cost functions, losses and manifolds as nlsq's. The ceres::Problem owns the
// wrapped objects and outlives the adapters. ceres_problem.cpp uses them.
#pragma once

#include <nlsq/block_function.hpp>
#include <nlsq/loss.hpp>
#include <nlsq/manifold.hpp>

#include <ceres/cost_function.h>
#include <ceres/loss_function.h>
#include <ceres/manifold.h>
#include <ceres/problem.h>

#include <cstdint>
#include <memory>

namespace nlsq::inline v0 {

struct WrappedFunction {
  std::shared_ptr<const BlockFunction> function;
  std::uint64_t serial = 0;  // of a cost function that is recorded
};
// `may_record`: false if an evaluation callback determines the values of the function.
WrappedFunction wrap(const ceres::CostFunction* function, bool may_record);
// Null means the plain sum of squares.
Loss wrap(const ceres::LossFunction* loss);
// The block's manifold, or its local parameterization in versions of Ceres that have them. Null means a plain
// vector.
ManifoldPtr wrap_manifold(const ceres::Problem& problem, const double* block);

}  // namespace nlsq::inline v0
