// What JᵀJ leaves out of the Hessian matrix of the cost, S = Σ rᵢ∇²rᵢ: learned from the gradients along the
// steps, and used where JᵀJ alone predicts badly. Where residuals stay large Gauss-Newton contracts as ‖S‖ to
// ‖JᵀJ‖, or does not at all.
//
// The update is that of Dennis, Gay and Welsch (ACM Trans. Math. Softw. 7, 1981), NL2SOL, which sizes S down
// where residuals shrink and chooses between the two models by what they promised of the last step. Of passes
// over the rows no more is known than JᵀJ and Jᵀr, so Sd is what the gradient's change is more than J₊ᵀJ₊d
// (Al-Baali and Fletcher, J. Oper. Res. Soc. 36, 1985).
#pragma once

#include "dense/evaluator.hpp"

#include <span>

namespace nlsq::inline v0 {

class ResidualCurvature {
 public:
  // Belongs to the model from here on.
  bool in_use() const { return in_use_; }
  const Matrix& matrix() const { return S_; }
  // A step d was taken between two points, both known in the same formats.
  void learn(const Linearization& from, const Linearization& to, std::span<const double> d);
  // A step d from `at` was tried, and the cost fell by `decrease`: which of the models was nearer? True: the
  // other one than in use, which is now.
  bool choose(const Linearization& at, std::span<const double> d, double decrease);
  // JᵀJ alone, and nothing is known of S.
  void forget();

 private:
  Matrix S_;  // n x n; empty: 0
  bool in_use_ = false;
  int in_a_row_ = 0;  // trials that spoke for the other model
  Vector product_, change_;
};

}  // namespace nlsq::inline v0
