// Computes steps of block problems with rows of very different weights, by the elimination's factor instead
// of QR. BlockSystem uses them.
#pragma once

#include "blocks/certificate/block_terms.hpp"

#include <span>

namespace nlsq::inline v0 {

// Solves (JᵀJ + λD²) s = -g for a J with rows of very different weights, to about as many digits as QR of the
// rows. J must be available in f64, and the solver must have gathered it. Returns false if these digits were
// not reached; then `out` is not valid.
//
// JᵀJ + λD² loses digits of the light rows, so its factor gives a step s that is only nearly right. The step
// is corrected by solving for what is left of the gradient, Jᵀ(r + J s) + λD² s, which is computed from the
// rows (corrected seminormal equations: Björck, Stability analysis of the method of seminormal equations for
// linear least squares problems, 1987). Corrections shrink as long as the factor is right to a digit. Their
// size is the measured error of the step.
//
// Where rows are so heavy that JᵀJ has no digit of the light rows, the heavy rows are multiplied by f < 1
// before it is formed. Each of them has a multiplier y, an unknown that stands for its residual over f². The
// multipliers are corrected together with the step (the method of multipliers; compare Van Loan, On the
// method of weighting for equality-constrained least-squares problems, 1985).
bool solve_beside_heavy_rows(const BlockPoint& at, double lambda, std::span<const double> scale,
                             BlockStep& out);

}  // namespace nlsq::inline v0
