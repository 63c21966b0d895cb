// Finds the directions that J does not determine, by the factor of JᵀJ + λD² from the elimination. D holds
// the norms of J's columns, or 1 for a column that is zero. The certificate uses it: for hundreds of unknowns
// with a free gauge it takes a small part of the time of QR.
#pragma once

#include "blocks/schur/schur.hpp"
#include "support/random.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

class NullSpace {
 public:
  // The solver must have factored JᵀJ + λD² with a small λ. `norms` is the diagonal of D, by tangent index.
  // `fixed` flags tangent coordinates that are not free; it is empty if all are free.
  NullSpace(SchurSolver& solver, RecordReader<double>& J, std::vector<double> norms,
            std::span<const std::uint8_t> fixed)
      : solver_(solver), J_(J), norms_(std::move(norms)), fixed_(fixed) {}

  // Finds all such directions, of which there are at most `free`. J v, with v of unit length in the metric of
  // D², counts as zero up to the length `rounding`. Returns false if J v is longer for some v, but too short
  // for JᵀJ to show that the data determine v, because JᵀJ has only half the digits of J.
  bool find(std::size_t free, double rounding);
  std::size_t size() const { return found_.size(); }
  // Subtracts from v its part in the space.
  void remove_from(std::vector<double>& v) const;
  // Returns the length of the part that the unit vector of a tangent coordinate has in the space.
  double share_of(std::size_t j) const;

 private:
  using Block = std::vector<std::vector<double>>;

  double product(const std::vector<double>& v, const std::vector<double>& w) const;  // vᵀD²w
  void remove_part(std::vector<double>& v, const std::vector<double>& along) const;
  void normalise(std::span<std::vector<double>> block) const;
  Block random_outside(std::size_t count);
  Block shortest_outside(std::size_t count);
  void apply_inverse(std::span<std::vector<double>> block);
  Block image_of(std::span<const std::vector<double>> block) const;
  bool shorten(Block& block, Block& image, double rounding);
  bool others_are_determined();

  SchurSolver& solver_;
  RecordReader<double>& J_;
  std::vector<double> norms_;
  std::span<const std::uint8_t> fixed_;
  std::vector<std::vector<double>> found_;  // orthonormal in the metric of D²
  Random random_{1};
};

}  // namespace nlsq::inline v0
