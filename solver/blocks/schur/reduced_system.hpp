// The reduced camera system S s = b, by Cholesky: dense in the library's own kernels, or supernode by
// supernode where most of S is empty.
#pragma once

#include "blocks/block_structure.hpp"
#include "support/parallel.hpp"

#include <memory>
#include <span>

namespace nlsq::inline v0 {

// Of a symmetric positive semidefinite matrix (n x n), which is destroyed: Cholesky with diagonal pivoting,
// pivots above `least` counted (Higham, Accuracy and Stability of Numerical Algorithms, 10.3).
int pivoted_rank(std::span<double> A, std::size_t n, double least);

struct RankEstimate {
  int rank = -1;           // -1: not known
  bool estimated = false;  // by the pivots of a factor without pivoting
};

constexpr double kDenseShare = 0.1;  // of blocks in use, from which on the factor of S is dense

class ReducedSystem {
 public:
  explicit ReducedSystem(const BlockStructure& structure);
  ~ReducedSystem();

  // S is the sum of the chunks' blocks, each at `stride` numbers from the last, with `damping` added to its
  // diagonal. False: not positive definite.
  template <class T>
  bool factor(const T* chunks, std::size_t count, std::size_t stride, std::span<const double> damping,
              const Parallelism& parallelism);
  // Complete pivoting would take too long: count_pivots() has to do.
  bool too_large_for_rank() const;
  // Of D⁻¹SD⁻¹, D the scale: pivots above `least`, of the factorisation with diagonal pivoting.
  int rank(const double* chunks, std::size_t count, std::size_t stride, std::span<const double> scale,
           double least);
  // Of D⁻¹SD⁻¹, too, after factor(): pivots above `least` in the order of the factor. An estimate of the
  // rank.
  int count_pivots(std::span<const double> scale, double least) const;
  // In place.
  void solve(std::span<double> b);
  bool dense() const;
  std::size_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nlsq::inline v0
