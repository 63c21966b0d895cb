// A Problem is a least squares problem of any structure. It has parameter blocks, and residual blocks that
// each depend on a few of them.
//
//   nlsq::Problem problem;
//   problem.add_residual_block<2>(Reprojection{u, v}, nlsq::Loss::huber(1), {camera, point});
//   nlsq::Summary summary = nlsq::solve(problem);
//
// solve minimizes ½ Σ_b ρ_b(‖r_b‖²). Functors written for Ceres work unchanged. Blocks of one functor type
// share one program and run many at a time, in the lowest precision that cannot change the answer; costs are
// always f64.
#pragma once

#include <nlsq/block_function.hpp>
#include <nlsq/loss.hpp>
#include <nlsq/manifold.hpp>
#include <nlsq/options.hpp>
#include <nlsq/summary.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// This is a parameter block: its numbers in memory, and their count. The caller owns them and keeps them
// alive.
struct BlockRef {
  double* data = nullptr;
  int size = 0;  // 0: the size it was added with

  // NOLINTBEGIN: implicit by design
  template <class P>
  requires std::same_as<P, double*> BlockRef(P block) : data(block) {}
  template <std::size_t n>
  BlockRef(double (&block)[n]) : data(block), size(static_cast<int>(n)) {}
  template <class Range>
  requires requires(Range& r) {
    { r.data() } -> std::same_as<double*>;
    { r.size() } -> std::convertible_to<std::size_t>;
  }
  BlockRef(Range&& block) : data(block.data()), size(static_cast<int>(block.size())) {}
  // NOLINTEND
};

struct ResidualBlockId {
  std::uint64_t index = 0;  // number of blocks added before it, removed ones included
};

// Holds the problem evaluated at the present values.
struct ProblemEvaluation {
  double cost = 0;                // ½ Σ_b ρ_b(‖r_b‖²); NaN if a functor has no residuals
  std::vector<double> residuals;  // all blocks in the order they were added, without losses
};

class NLSQ_API Problem {
 public:
  Problem();
  ~Problem();
  Problem(Problem&&) noexcept;
  Problem& operator=(Problem&&) noexcept;

  // Declares a parameter block. Using it in a residual block declares it as well; this call gives its size
  // where a plain pointer cannot, or its manifold. Throws ValidationError if it was added with another size.
  void add_parameter_block(double* block, int size, ManifoldPtr manifold = nullptr);
  void add_parameter_block(BlockRef block, ManifoldPtr manifold = nullptr);
  // Sets the manifold of a declared block. With null, the block is a plain vector.
  void set_manifold(double* block, ManifoldPtr manifold);
  // A constant block is not changed by solve. Blocks are variable by default.
  void set_constant(double* block);
  void set_variable(double* block);
  bool is_constant(const double* block) const;
  // Set the bounds of number `index` of a declared block; -∞ and ∞ mean none. A step beyond a bound ends on
  // the bound. If steps cannot move a number alone, as in a quaternion, a step beyond its bound is rejected,
  // and the number must start within its bounds. Throw ValidationError for NaN and for an index out of range.
  void set_lower_bound(double* block, int index, double bound);
  void set_upper_bound(double* block, int index, double bound);
  // Blocks of the lowest group are eliminated first, provided that no two of them share a residual block and
  // none has more than 8 free numbers. Otherwise, and without groups, the choice is automatic.
  void set_elimination_group(double* block, int group);

  // Adds a functor (see block_function.hpp) that depends on `blocks`. `residuals` is the number of its
  // residuals. It is not needed if the functor returns them or has a static member `residuals`. Throws
  // ValidationError for blocks or sizes that do not fit.
  template <int residuals = 0, class F, std::size_t k>
  ResidualBlockId add_residual_block(F functor, const Loss& loss, const BlockRef (&blocks)[k]) {
    if constexpr (residuals > 0) {
      return add(make_block_function<k>(std::move(functor), residuals), loss, blocks);
    } else if constexpr (requires { F::residuals; }) {
      return add(make_block_function<k>(std::move(functor), F::residuals), loss, blocks);
    } else {
      static_assert(std::is_same_v<detail::BlockForm<F, double, k>, detail::ResultForm>,
                    "how many residuals? add_residual_block<2>(...), or a functor that returns them");
      const double* at[k];
      for (std::size_t i = 0; i < k; ++i) at[i] = blocks[i].data;
      return add(make_block_function<k>(std::move(functor), at), loss, blocks);
    }
  }
  // Adds a type-erased function, or one whose number of blocks is known only at run time.
  ResidualBlockId add_residual_block(std::shared_ptr<const BlockFunction> function, const Loss& loss,
                                     std::span<const BlockRef> blocks) {
    return add(std::move(function), loss, blocks);
  }
  // Names a residual block's component. A precision policy may set the formats of a component
  // ("imu.residual=f64": its derivatives are evaluated in f64), and the summary reports it separately. ""
  // removes the name. Throws ValidationError for an invalid name and if there is no such block.
  void set_component(ResidualBlockId id, const std::string& name);
  // Removes a residual block. Its parameter blocks remain.
  void remove_residual_block(ResidualBlockId id);
  // Removes a parameter block and all residual blocks that use it.
  void remove_parameter_block(double* block);

  std::size_t parameter_blocks() const;
  std::size_t residual_blocks() const;
  std::size_t residuals() const;
  int parameters() const;  // numbers in all parameter blocks, constant ones included

  // Evaluates the functors themselves, in double. Unlike the costs of a Summary, the cost includes residual
  // blocks whose parameter blocks are all constant.
  ProblemEvaluation evaluate() const;

  struct Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  ResidualBlockId add(std::shared_ptr<const BlockFunction> function, const Loss& loss,
                      std::span<const BlockRef> blocks);
  std::unique_ptr<Impl> impl_;
};

// Minimizes the cost, and stores the result in the parameter blocks: the best point whose cost was verified
// in f64. If a functor throws, the exception passes through and the blocks are unchanged.
//
// Small parameter blocks that share no residual block (points) are eliminated first, by the Schur complement.
// The stop tests are those of SolverOptions, all in f64. Residuals and costs are f64 under any precision
// policy. The policy sets the formats in which derivatives are evaluated (`residual`, for all or by
// component), stored (`jacobian`) and summed (`gram`) at first, and its rules apply. At every point some
// blocks of each program are also evaluated in f64; a program whose f32 derivatives are wrong uses f64 from
// there on. Automatic geodesic acceleration corrects steps along curved paths. Samples, linear starting
// values, floors and ceilings apply to curve fits only. Throws ValidationError if an option breaks its rule
// or no parameter is free.
NLSQ_API Summary solve(Problem& problem, const SolverOptions& options = {});

}  // namespace nlsq::inline v0
