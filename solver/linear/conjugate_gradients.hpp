// Preconditioned conjugate gradients for A x = b, where A is symmetric positive semidefinite and known only
// by its products (Hestenes, Stiefel, 1952). It stops early by Nash and Sofer's test on the quadratic
// (Assessing a search direction within a truncated-Newton method, Operations Research Letters 9, 1990). Block
// problems use it for iterative steps.
#pragma once

#include "program/aligned_vector.hpp"

#include <functional>
#include <span>

namespace nlsq::inline v0 {

struct CgGoal {
  double eta = 0.1;  // stop if i (Q_i - Q_{i-1}) <= eta Q_i, with Q = ½ xᵀAx - bᵀx after i iterations,
  double residual = 1;  // and ‖r‖ <= residual ‖b‖ in the preconditioner's norm
  int most = 500;       // limit on iterations
};

struct CgResult {
  int iterations = 0;
  // true if the tolerances are met. Otherwise x is the last iterate, and Q still decreases.
  bool reached = false;
  // false if a product showed that A or the preconditioner is not definite. x is then the iterate before
  // that.
  bool definite = true;
  double leftover = 0;  // xᵀ(b - A x), which is 0 up to rounding
};

// Solves such systems, and keeps its buffers between solves.
class ConjugateGradients {
 public:
  using Operator = std::function<void(std::span<const double> in, std::span<double> out)>;
  // Solves A x = b. The iteration starts at 0 and overwrites x.
  CgResult solve(const Operator& A, const Operator& precondition, std::span<const double> b,
                 std::span<double> x, const CgGoal& goal);

 private:
  AlignedVector<double> r_, z_, p_, Ap_;
};

}  // namespace nlsq::inline v0
