// How well a problem determines its parameters: covariances of parameter blocks that are chosen.
//
//   nlsq::solve(problem);
//   const nlsq::BlockCovariance c = nlsq::covariance(problem, {camera, point});
//   if (c.determined) use(c.block(camera, camera), c.block(camera, point));
//
// (JᵀJ)⁻¹ at the present values, as Ceres has it: residuals are taken to be in units of their standard
// deviations. Where they are not but are all alike, multiply by residual_variance.
#pragma once

#include <nlsq/matrix.hpp>
#include <nlsq/problem.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

struct CovarianceOptions : Parallelism {
  bool apply_losses = true;  // J is that of the weighted residuals, √ρ'(‖r‖²) r to first order
  // Where the data do not determine every direction: the Moore-Penrose inverse of JᵀJ, which takes what is
  // not determined for known. Of small problems: up to 1000 numbers to be found. false: no covariance.
  bool pseudo_inverse = false;
};

class NLSQ_API BlockCovariance {
 public:
  // All directions are determined, and the numbers have six digits, or `error` says how few. Otherwise every
  // number below is NaN, unless the pseudo-inverse was asked for.
  bool determined = false;
  int parameters = 0;            // numbers to be found, in tangent numbers
  int rank = -1;                 // of J, columns at unit length; -1: too large a matrix to look at
  double error = 0;              // relative, estimated: what iterative refinement still changed, or u κ
  double residual_variance = 0;  // ‖r‖² / (residuals - rank); NaN where nothing is left over
  std::string message;           // what was found, in words

  // Numbers of a by numbers of b, blocks that were chosen. Held numbers and constant blocks have zeros;
  // blocks that no residual depends on have NaN. Throw ValidationError for blocks that were not chosen.
  Matrix block(const double* a, const double* b) const;
  Matrix block(const double* a) const { return block(a, a); }
  // The same in tangent numbers: steps of the manifolds.
  Matrix tangent_block(const double* a, const double* b) const;
  // Of all that were chosen, one after the other, in the order in which they were.
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

// In f64. Bounds are not looked at. Throws ValidationError for pointers that are no parameter blocks, and
// where a pseudo-inverse is asked for of too large a problem; what a user's function throws passes through.
NLSQ_API BlockCovariance covariance(Problem& problem, const std::vector<const double*>& blocks,
                                    const CovarianceOptions& options = {});

}  // namespace nlsq::inline v0
