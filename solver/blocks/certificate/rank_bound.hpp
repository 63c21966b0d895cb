// Shows that J does not have more than a given rank, in a small part of the time that computing its rank
// takes. block_doubts.cpp compares the ranks of J at many points with it.
#pragma once

#include "blocks/block_structure.hpp"
#include "blocks/record_rows.hpp"
#include "blocks/windows/record_reader.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

class RankBound {
 public:
  // Returns true if J, with columns scaled to unit length, has at most this rank. It then has n - rank
  // independent directions v, of length 1 or more, for which J v is a rounding error, so that many singular
  // values count as zero by rank_tolerance(). They are estimated by a pivoted factor of JᵀJ, corrected, and
  // tested by the rows of J. Returns false if this does not succeed, or if some rows are so heavy that they
  // hide what others determine; then the rank is not known.
  bool at_most(std::size_t rank, const BlockStructure& structure, RecordReader<double>& J) {
    return at_most(rank, structure, J, {});
  }
  // Does the same for J with its rows multiplied by these factors.
  bool at_most(std::size_t rank, const BlockStructure& structure, RecordReader<double>& J,
               std::span<const double> factors);

 private:
  bool factor(std::size_t rank);
  void estimate(std::size_t rank);
  double multiply(const BlockStructure& structure, RecordReader<double>& J);
  void multiply(const JacobianRow& row);
  void correct(std::size_t rank, const BlockStructure& structure, RecordReader<double>& J);
  double factor_of(const JacobianRow& row) const { return factors_.empty() ? 1 : factors_[row.number]; }
  double& A(std::size_t i, std::size_t j) { return normal_[i * n_ + j]; }

  std::size_t n_ = 0, nullity_ = 0;
  std::span<const double> factors_;
  std::vector<double> normal_;      // scaled JᵀJ, then rows of its factor L, in the order of the pivots
  std::vector<double> inverse_;     // of the norms of the columns
  std::vector<double> V_, scaled_;  // rows of the directions, n x nullity, and the same over the norms
  std::vector<double> image_;       // JᵀJ V, scaled
  std::vector<double> along_;       // a row of J times V
  std::vector<double> column_;      // of L
  std::vector<std::size_t> order_;  // of the columns
};

}  // namespace nlsq::inline v0
