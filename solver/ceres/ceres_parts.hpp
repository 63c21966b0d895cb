// Ceres's cost functions, losses and manifolds as nlsq's. What they wrap belongs to the ceres::Problem and
// outlives them.
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
// `may_record`: false where an evaluation callback decides what the function gives.
WrappedFunction wrap(const ceres::CostFunction* function, bool may_record);
// null: the plain sum of squares.
Loss wrap(const ceres::LossFunction* loss);
// The block's manifold, or local parameterization where Ceres still has them; null: a plain vector.
ManifoldPtr wrap_manifold(const ceres::Problem& problem, const double* block);

}  // namespace nlsq::inline v0
