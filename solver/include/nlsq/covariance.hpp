// covariance: computes how well a problem determines its parameters, as covariances of chosen parameter
// blocks.
//
//   nlsq::solve(problem);
//   const nlsq::BlockCovariance c = nlsq::covariance(problem, {camera, point});
//   if (c.determined) use(c.block(camera, camera), c.block(camera, point));
//
// The covariance is (JᵀJ)⁻¹ at the present values, as in Ceres. It takes residuals to be in units of their
// standard deviations. If they only have equal standard deviations, multiply by residual_variance.
#pragma once

#include <nlsq/matrix.hpp>
#include <nlsq/problem.hpp>

#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Holds the options of covariance.
struct CovarianceOptions : Parallelism {
  bool apply_losses = true;  // J is that of the weighted residuals, √ρ'(‖r‖²) r to first order
  // If the data do not determine every direction, return the Moore-Penrose inverse of JᵀJ, which treats
  // undetermined directions as known. This is only for small problems, up to 1000 free numbers. If false, no
  // covariance is returned in this case.
  bool pseudo_inverse = false;
};

// Holds the covariances of the chosen blocks.
class NLSQ_API BlockCovariance {
 public:
  // True if all directions are determined and the entries have six digits, or as many as `error` shows. If
  // false, every entry below is NaN, unless the pseudo-inverse was requested.
  bool determined = false;
  int parameters = 0;            // free numbers, in tangent numbers
  int rank = -1;                 // rank of J with columns scaled to unit length; -1: too large to compute
  double error = 0;              // estimated relative error: the last change by iterative refinement, or u κ
  double residual_variance = 0;  // ‖r‖² / (residuals - rank); NaN without degrees of freedom
  std::string message;           // the result in words

  // Returns the covariance of blocks a and b, size of a x size of b, in ambient numbers. Fixed numbers and
  // constant blocks have zeros; blocks that no residual depends on have NaN. Throws ValidationError for
  // blocks that were not chosen.
  Matrix block(const double* a, const double* b) const;
  Matrix block(const double* a) const { return block(a, a); }
  // Returns the same in tangent numbers, that is, for steps of the manifolds.
  Matrix tangent_block(const double* a, const double* b) const;
  // Returns the covariance of all chosen blocks together, in the order they were chosen.
  Matrix joint() const;

 private:
  friend struct CovarianceWork;
  struct Chosen {
    const double* data = nullptr;
    std::size_t ambient = 0, tangent = 0;
    std::size_t first = 0;  // row in tangent_
    bool held = false, used = false;
    Matrix plus;  // ambient x tangent
  };
  std::size_t place(const double* block) const;
  std::vector<Chosen> chosen_;
  Matrix tangent_;
};

// Computes covariances in f64. Bounds are ignored. Throws ValidationError for pointers that are no parameter
// blocks, and if a pseudo-inverse is requested for too large a problem. Exceptions of user functions pass
// through.
NLSQ_API BlockCovariance covariance(Problem& problem, const std::vector<const double*>& blocks,
                                    const CovarianceOptions& options = {});

}  // namespace nlsq::inline v0
