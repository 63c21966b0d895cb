// Solves the reduced camera system S s = b by Cholesky, for SchurSolver: dense with the library's own
// kernels, or by supernodes where most blocks of S are zero.
#pragma once

#include "blocks/block_structure.hpp"
#include "support/parallel.hpp"

#include <memory>
#include <span>

namespace nlsq::inline v0 {

// Returns the rank of a symmetric positive semidefinite matrix (n x n), which is overwritten. The rank is the
// number of pivots above `least` in a Cholesky factorisation with diagonal pivoting (Higham, Accuracy and
// Stability of Numerical Algorithms, 10.3).
int pivoted_rank(std::span<double> A, std::size_t n, double least);

struct RankEstimate {
  int rank = -1;           // -1: not known
  bool estimated = false;  // from a factorisation without pivoting
};

constexpr double kDenseShare = 0.1;  // share of nonzero blocks above which the factor of S is dense

class ReducedSystem {
 public:
  explicit ReducedSystem(const BlockStructure& structure);
  ~ReducedSystem();

  // Forms S as the sum of the chunks' blocks, which are `stride` numbers apart, adds `damping` to its
  // diagonal, and factors it. The blocks have the layout for sums in format L. Returns false if S is not
  // positive definite.
  template <class T, class L>
  bool factor(const T* chunks, std::size_t count, std::size_t stride, std::span<const double> damping,
              const Parallelism& parallelism);
  // Returns the memory of a dense factor; empty if there is none. Writing there destroys the factor. The
  // arrays given to factor() must lie elsewhere.
  std::span<double> spare();
  // Returns true if complete pivoting would take too long. count_pivots() should then be used.
  bool too_large_for_rank() const;
  // Returns the rank of D⁻¹SD⁻¹, where D is the scale: the number of pivots above `least` with diagonal
  // pivoting. A dense factor is lost, because the matrix uses its memory.
  int rank(const double* chunks, std::size_t count, std::size_t stride, std::span<const double> scale,
           double least);
  // Estimates the norm of (D⁻¹SD⁻¹)⁻¹ by inverse iteration, in a small part of the time that pivoting takes.
  // Returns infinity unless all pivots are well above `least`; no pivot is less than the least eigenvalue.
  // Coordinates whose scale is 0 do not count. Must be called after factor().
  double inverse_norm(std::span<const double> scale, double least);
  // Estimates the rank of D⁻¹SD⁻¹ after factor(): the number of pivots above `least` in the order of the
  // factor.
  int count_pivots(std::span<const double> scale, double least) const;
  // Solves S s = b in place.
  void solve(std::span<double> b);
  bool dense() const;
  std::size_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nlsq::inline v0
