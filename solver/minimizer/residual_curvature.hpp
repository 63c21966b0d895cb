// Approximates S = Σ rᵢ∇²rᵢ, the part of the cost's Hessian that JᵀJ does not contain. DenseSystem uses it
// where JᵀJ alone predicts badly. With large residuals, Gauss-Newton converges at the rate ‖S‖/‖JᵀJ‖, or not
// at all.
//
// The update is that of NL2SOL (Dennis, Gay and Welsch, ACM Trans. Math. Softw. 7, 1981). It sizes S down
// where residuals shrink, and chooses the model that predicted the last step better. A pass over the rows
// keeps only JᵀJ and Jᵀr. So Sd is the change of the gradient minus J₊ᵀJ₊d (Al-Baali and Fletcher, J. Oper.
// Res. Soc. 36, 1985).
#pragma once

#include "dense/evaluator.hpp"

#include <span>

namespace nlsq::inline v0 {

class ResidualCurvature {
 public:
  // True if the model includes S.
  bool in_use() const { return in_use_; }
  const Matrix& matrix() const { return S_; }
  // Updates S from a step d between two points linearized in the same formats.
  void learn(const Linearization& from, const Linearization& to, std::span<const double> d);
  // Compares the predictions for a step d from `at`, along which the cost fell by `decrease`. Switches the
  // model if the other one predicted that much better in several trials in a row. Returns true if it
  // switched.
  bool choose(const Linearization& at, std::span<const double> d, double decrease);
  // Drops S and returns to JᵀJ alone.
  void forget();

 private:
  Matrix S_;  // n x n; empty means zero
  bool in_use_ = false;
  int in_a_row_ = 0;  // trials in a row that favoured the other model
  Vector product_, change_;
};

}  // namespace nlsq::inline v0
