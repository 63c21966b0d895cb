// Computes the covariance of a joint fit from the normal matrices of its groups, and which parameters these
// leave undetermined. shared_fit.cpp uses it.
#pragma once

#include <nlsq/matrix.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Computes the covariance of the joint fit. Its normal matrix has a block for each group, which is coupled
// with the others only by the shared parameters.
class Arrow {
 public:
  Arrow(std::size_t shared, std::size_t groups)
      : shared_(shared), of_group_(groups), size_(shared), sum_(shared, shared) {}

  // Adds JᵀJ of group k, in which the shared parameters come first. Returns false if its rows do not
  // determine its own parameters.
  bool add(std::size_t k, const Matrix& normal);
  // Must be called after the last group. Returns false if the rows do not determine the shared parameters, or
  // too weakly for the normal matrix in float64 to give their covariance.
  bool finish();

  // Returns (JᵀJ)⁻¹ of the shared parameters. Requires finish().
  const Matrix& shared_covariance() const { return covariance_; }
  // Returns the diagonal of (JᵀJ)⁻¹ at own parameter j of group k.
  double own_variance(std::size_t k, std::size_t j) const;

 private:
  struct Group {
    std::vector<double> variance;  // diagonal of D⁻¹, D the block of the own parameters
    Matrix slopes;                 // D⁻¹B, own x shared: how own parameters follow the shared ones
  };
  std::size_t shared_;
  std::vector<Group> of_group_;
  std::vector<double> size_;  // squared norms of the shared parameters' columns of J
  double least_own_ = 1;      // the least pivot of all groups' scaled blocks D
  Matrix sum_, covariance_;   // sum_: the Schur complement
};

// Returns for each parameter whether the rows of all groups do not determine it: it can change, together with
// others, without an effect on any row. The shared parameters come first, then those of each group in turn.
// `normals` holds the normal matrix JᵀJ of each group, in which the `shared` parameters come first, too.
// `rank` is the rank of J of all rows. The result is empty if there are too many parameters.
std::vector<bool> undetermined_in_all(std::span<const Matrix> normals, std::size_t shared, std::size_t rank);

}  // namespace nlsq::inline v0
