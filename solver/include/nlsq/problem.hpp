// Least squares of any structure: parameter blocks, and residual blocks that depend on a few of them each.
//
//   nlsq::Problem problem;
//   problem.add_residual_block<2>(Reprojection{u, v}, nlsq::Loss::huber(1), {camera, point});
//   nlsq::Summary summary = nlsq::solve(problem);
//
// Minimises ½ Σ_b ρ_b(‖r_b‖²). Functors written for Ceres work unchanged. Blocks of one functor type run one
// program, many at a time, in the lowest precision that cannot change the answer; costs are f64 throughout.
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

// A parameter block: where its numbers are, and how many. They belong to the caller, who keeps them alive.
struct BlockRef {
  double* data = nullptr;
  int size = 0;  // 0: as it was added

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
  std::uint64_t index = 0;  // how many were added before it, removed ones included
};

// At the present values.
struct ProblemEvaluation {
  double cost = 0;                // NaN where a functor has no residuals
  std::vector<double> residuals;  // by block in the order they were added, losses not applied
};

class NLSQ_API Problem {
 public:
  Problem();
  ~Problem();
  Problem(Problem&&) noexcept;
  Problem& operator=(Problem&&) noexcept;

  // A block is known from its first use on; this says its size where a plain pointer cannot, or what it is.
  // Throws ValidationError where a block is added again with another size.
  void add_parameter_block(double* block, int size, ManifoldPtr manifold = nullptr);
  void add_parameter_block(BlockRef block, ManifoldPtr manifold = nullptr);
  // Of a known block; null: a plain vector.
  void set_manifold(double* block, ManifoldPtr manifold);
  void set_constant(double* block);
  void set_variable(double* block);
  bool is_constant(const double* block) const;
  // Of the index-th number of a known block; -∞ and ∞: none. On a manifold the moved point is brought back
  // between its bounds. A start outside is, too. Throws ValidationError for NaN and for places that are not
  // there.
  void set_lower_bound(double* block, int index, double bound);
  void set_upper_bound(double* block, int index, double bound);
  // Blocks of the lowest group are eliminated first, where no two of them share a residual block and none has
  // more than 8 numbers to be found; otherwise, and where no block has a group, the choice is automatic.
  void set_elimination_group(double* block, int group);

  // A functor (see block_function.hpp). `residuals`: how many it has; not needed where it returns them, or
  // has a static member `residuals`.
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
  // A function that is known already, or one for a number of blocks that is known at run time only.
  ResidualBlockId add_residual_block(std::shared_ptr<const BlockFunction> function, const Loss& loss,
                                     std::span<const BlockRef> blocks) {
    return add(std::move(function), loss, blocks);
  }
  // Names a part of the problem: a precision policy may give the residual blocks of one name formats of their
  // own
  // ("imu.residual=f64": their derivatives are evaluated in f64), and the summary tells of them by
  // themselves. "" takes the name away. Throws ValidationError for what cannot be a name, and where the block
  // is not there.
  void set_component(ResidualBlockId id, const std::string& name);
  // Its parameter blocks stay.
  void remove_residual_block(ResidualBlockId id);
  // With all residual blocks that use it.
  void remove_parameter_block(double* block);

  std::size_t parameter_blocks() const;
  std::size_t residual_blocks() const;
  std::size_t residuals() const;
  int parameters() const;  // numbers in all parameter blocks, constant ones included

  // Through the functors themselves, in double.
  ProblemEvaluation evaluate() const;

  struct Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  ResidualBlockId add(std::shared_ptr<const BlockFunction> function, const Loss& loss,
                      std::span<const BlockRef> blocks);
  std::unique_ptr<Impl> impl_;
};

// Minimises, and leaves the result in the parameter blocks: of all points whose cost was verified in f64, the
// best. Where a functor throws, the exception passes through and the blocks are as they were.
//
// Small parameter blocks that share no residual block (points) are eliminated first: the Schur complement.
// Stop tests are those of SolverOptions, all on f64 numbers. Residuals and costs are f64 whatever the
// precision policy says: it chooses what derivatives are evaluated in (`residual`, for all or for components
// by name), and what they are stored
// (`jacobian`) and summed in (`gram`) at first; its rules hold. At every point some blocks of each program
// are evaluated in f64, too: a program whose f32 derivatives are spoilt is f64 from there on, alone. Geodesic
// acceleration, where it is automatic, corrects steps that bend. Samples, linear starting values, floors and
// ceilings are of curve fits. Throws ValidationError where an option breaks its rule or no parameter is free.
NLSQ_API Summary solve(Problem& problem, const SolverOptions& options = {});

}  // namespace nlsq::inline v0
