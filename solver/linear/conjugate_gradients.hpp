// Preconditioned conjugate gradients for A x = b, A symmetric and positive semidefinite, known by its
// products alone (Hestenes, Stiefel, 1952). Inexact where a step needs no more: Nash and Sofer's test on the
// quadratic (Assessing a search direction within a truncated-Newton method, Operations Research Letters 9,
// 1990).
#pragma once

#include "support/aligned_vector.hpp"

#include <functional>
#include <span>

namespace nlsq::inline v0 {

struct CgGoal {
  double eta = 0.1;     // i (Q_i - Q_{i-1}) <= eta Q_i, Q the quadratic ½ xᵀAx - bᵀx, i iterations
  double residual = 1;  // and ‖r‖ <= residual ‖b‖, in the preconditioner's norm
  int most = 500;       // iterations
};

struct CgResult {
  int iterations = 0;
  bool reached = false;  // the goal; else x is what was found, along which Q still falls
  bool definite =
      true;  // false: a product showed that A, or the preconditioner, is not. x is what was found before
  double leftover = 0;  // xᵀ(b - A x): 0 but for rounding
};

// Buffers that serve again.
class ConjugateGradients {
 public:
  using Operator = std::function<void(std::span<const double> in, std::span<double> out)>;
  // x is set; whatever was in it does not count.
  CgResult solve(const Operator& A, const Operator& precondition, std::span<const double> b,
                 std::span<double> x, const CgGoal& goal);

 private:
  AlignedVector<double> r_, z_, p_, Ap_;
};

}  // namespace nlsq::inline v0
