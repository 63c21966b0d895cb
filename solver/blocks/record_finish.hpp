// Completes records of J after their derivatives were evaluated: maps them to tangent coordinates, writes the
// residuals, applies the losses, and sets columns that bounds hold to zero.
#pragma once

#include "blocks/block_structure.hpp"

#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct LossWeight {
  double root = 1;   // √ρ'
  double along = 0;  // 0, or the factor that stretches J along r
};
LossWeight weight_of(const BlockStructure& structure, std::size_t slot, const double* r);
// Multiplies a number for each residual by the root of the weight that a loss gives to its block at r.
void multiply_by_weights(const BlockStructure& structure, const std::vector<double>& r,
                         std::vector<double>& numbers);

class RecordFinish {
 public:
  RecordFinish(const Problem::Impl& problem, const BlockStructure& structure);

  // Starts with the records at x. `r` holds the residuals at x, and must not change until the next begin().
  void begin(std::span<const double> x, std::span<const double> r, bool apply_losses);
  // Completes the records of slots [first, last).
  template <class T>
  void finish(std::size_t first, std::size_t last, const RecordTarget<T>& J) const;
  // Sets the columns with held[j] = 1 (tangent indices) to zero in records that are finished from now on.
  void hold(std::span<const std::uint8_t> held) { held_.assign(held.begin(), held.end()); }
  // Does the same in records that were finished before.
  template <class T>
  void clear_held(std::size_t first, std::size_t last, const RecordTarget<T>& J) const;

 private:
  template <class T>
  void map_to_tangent(std::size_t first, std::size_t last, const RecordTarget<T>& J) const;

  const Problem::Impl& problem_;
  const BlockStructure& structure_;
  std::span<const double> r_;
  bool losses_ = false;
  std::vector<std::uint8_t> held_;
  std::vector<double> plus_;              // Jacobians of the manifolds at x
  std::vector<std::size_t> plus_offset_;  // by parameter block
};

}  // namespace nlsq::inline v0
