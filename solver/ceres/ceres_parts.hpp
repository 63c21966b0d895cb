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

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <typeinfo>

namespace nlsq::inline v0 {

class CostBlock;
class RecordableCostFunction;

// Wraps the cost functions of a problem. The wrapped functions lie together in memory, in the order of
// wrapping, because the solver calls all of them one after another.
class CostBlocks {
 public:
  // `may_record` is false if an evaluation callback determines the values of the functions.
  explicit CostBlocks(bool may_record);

  struct Wrapped {
    std::shared_ptr<const BlockFunction> function;
    std::uint64_t serial = 0;  // of a cost function that is recorded
  };
  Wrapped wrap(const ceres::CostFunction* function);

 private:
  const RecordableCostFunction* recordable(const ceres::CostFunction* function);

  std::shared_ptr<std::deque<CostBlock>> blocks_;  // all wrapped functions share the ownership
  bool may_record_;
  // The type of the last function that was wrapped, the distance of its ceres::CostFunction from the whole
  // object, and the distance from there to its RecordableCostFunction; none if it has no such base.
  const std::type_info* type_ = nullptr;
  std::ptrdiff_t of_function_ = 0;
  std::optional<std::ptrdiff_t> to_recordable_;
};
// Wraps a loss. Null means the plain sum of squares.
Loss wrap(const ceres::LossFunction* loss);
// Wraps the block's manifold, or its local parameterization in versions of Ceres that have them. Returns null
// for a plain vector.
ManifoldPtr wrap_manifold(const ceres::Problem& problem, const double* block);

}  // namespace nlsq::inline v0
