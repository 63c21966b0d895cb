// Applies the reduced camera system as an operator, for SchurSolver: S s = (U + D) s - W (V + D)⁻¹ Wᵀ s,
// computed from the rows of the points, with the inverses of diagonal blocks as preconditioner (Agarwal,
// Snavely, Seitz, Szeliski, Bundle adjustment in the large, ECCV 2010). Vectors have `pad` numbers for each
// camera; unused ones are zero. Sums are f64 in a fixed order, whatever the number of threads.
#pragma once

#include "blocks/block_structure.hpp"
#include "linear/conjugate_gradients.hpp"
#include "program/aligned_vector.hpp"
#include "support/parallel.hpp"

#include <span>
#include <vector>

namespace nlsq::inline v0 {

class CameraOperator {
 public:
  explicit CameraOperator(const BlockStructure& structure);

  // Computes V⁻¹ of the points, the preconditioner, and the right-hand side W V⁻¹ g by chunk. `damping` is
  // given by tangent index. Returns false if a block is not positive definite.
  template <class R>
  bool prepare(const R* J, const std::vector<double>& V, const std::vector<double>& gradient,
               std::span<const double> damping, std::vector<double>& roots, Preconditioner preconditioner,
               const Parallelism& parallelism);
  // Returns the vectors of all chunks, one after the other, with `cameras * pad` numbers each.
  AlignedVector<double>& chunk_vectors() { return vectors_; }

  // Solves S s = b in place for a reduced vector, with the data of the last prepare().
  template <class R>
  CgResult solve(const R* J, const std::vector<double>& roots, std::span<double> b, const CgGoal& goal,
                 const Parallelism& parallelism);

  std::size_t bytes() const;

 private:
  // Computes out = S s for reduced vectors. Conjugate gradients use vectors without padding, which would be
  // most of them if blocks have one number.
  template <class R>
  void multiply(const R* J, const std::vector<double>& roots, std::span<const double> s,
                std::span<double> out, const Parallelism& parallelism);
  bool invert_blocks(std::span<const double> damping);
  void precondition(std::span<const double> in, std::span<double> out) const;
  std::size_t length() const { return structure_.cameras() * structure_.pad; }
  std::size_t chunks() const { return structure_.chunk.size() - 1; }

  const BlockStructure& structure_;
  AlignedVector<double> vectors_, scratch_, diagonal_;  // by chunk
  std::vector<double> damping_;                         // by reduced number
  std::vector<double> factors_, pivots_;                // L of each block, by columns, and 1 / L_jj
  std::vector<std::size_t> factor_first_;               // by camera
  std::vector<double> padded_, x_;  // a vector with `pad` numbers for each camera, and one without padding
  ConjugateGradients gradients_;
};

}  // namespace nlsq::inline v0
