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
#include <unordered_map>
#include <vector>

namespace nlsq::inline v0 {

class CostBlock;
class RecordableCostFunction;

// Holds what a cost function returned when Ceres called it, so that it need not be called again at the same
// point. It is given out once.
struct CostAnswer {
  enum class Of : std::uint8_t { none, residuals, derivatives };
  Of of = Of::none;
  std::vector<double> at;  // the numbers of its parameter blocks
  std::vector<double> residuals;
  std::vector<double> J;  // a matrix for each parameter block, one after another

  // Copies the answer and returns true if it is of this kind and at this point. `J_out` is null for
  // residuals.
  bool give(Of wanted, const std::vector<int>& sizes, const double* const* blocks, double* r,
            double* const* J_out);
};

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
  // Wraps a cost function. `has_empty` says whether one of its parameter blocks has no numbers.
  Wrapped wrap(const ceres::CostFunction* function, bool has_empty);
  // Begins to load into the caches what calls of a wrapped function will read.
  static void fetch(const BlockFunction& wrapped);
  // Gives an answer to one wrapped function, numbered in the order of wrapping. It looks there before it
  // calls its cost function.
  void look_in(std::size_t number, std::shared_ptr<CostAnswer> answer);

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
// Begins to load a cost function, which takes two lines of the caches.
inline void prefetch_object(const ceres::CostFunction* function) {
  constexpr std::ptrdiff_t kLine = 64;  // bytes
  __builtin_prefetch(function);
  __builtin_prefetch(reinterpret_cast<const char*>(function) + kLine);
}
// Wraps a loss. Null means the plain sum of squares.
Loss wrap(const ceres::LossFunction* loss);

// Wraps the manifolds of a problem. Blocks that share a manifold share its wrapper.
class Manifolds {
 public:
  // Wraps the block's manifold, or its local parameterization in versions of Ceres that have them. Returns
  // null for a plain vector.
  ManifoldPtr wrap(const ceres::Problem& problem, const double* block);

 private:
  std::unordered_map<const ceres::Manifold*, ManifoldPtr> wrapped_;
};
// Returns false where the manifold has no finite Jacobian. Ceres evaluates nothing at such points, and some
// of its functions end the process there.
bool usable_at(const ceres::Manifold& manifold, const double* x);

}  // namespace nlsq::inline v0
