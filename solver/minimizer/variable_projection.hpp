// Variable projection: the parameters that enter a model linearly are eliminated, the cost is that of the
// others alone.
//
// J = [A | Φ], Φ the columns of the linear parameters. Rows are streamed and JᵀJ is all that is kept of them,
// so the projected functional (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973) is not formed. It need not
// be: a step of the whole problem in which the linear parameters are not damped has as its part in the others
// Kaufman's step (BIT 15, 1975), the one of P⊥A, P⊥ = 1 - ΦΦ⁺, and what damping has to act on are the columns
// of P⊥A, whose lengths are diagonal entries of the Schur complement of ΦᵀΦ. With the linear parameters at
// their best for the others at every point, or as near as the steps themselves keep them (Ruhe and Wedin,
// SIAM Review 22, 1980), that is the method.
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/box.hpp"

#include <nlsq/options.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

class Projection {
 public:
  // Parameters that enter linearly together. Those that `box` bounds stay in the problem; so do those whose
  // columns depend on the others', as the first point has them. `wish` automatic: and all of them do where
  // that point promises nothing.
  void offer(std::span<const int> linear, const Box& box, VariableProjection wish);
  // The first point is known in more digits now, and no step was taken from it: it is to be seen again.
  void see_again();
  // Something is eliminated, or may be: the first point is to be seen yet.
  bool active() const { return !linear_.empty(); }
  // `wish` is automatic, and the first point was known in too few digits to tell: nothing is.
  bool too_few_digits() const { return too_few_digits_; }
  std::span<const int> eliminated() const {
    return decided_ ? std::span<const int>(linear_) : std::span<const int>();
  }

  // What the damping of each column of J is to be multiplied by at this point: ‖P⊥a‖²/‖a‖², and 0 for those
  // that are eliminated. Empty, all alike, where Φ does not determine its parameters. To be asked at every
  // point of the iteration.
  std::span<const double> weigh_damping(const Linearization& at);

  // Moves the eliminated parameters of x, where `at` was evaluated, to their best for the others. By how much
  // the cost falls, exactly but for rounding; 0, and x is left as it is, where Φ does not determine them.
  double solve(const Linearization& at, Vector& x);

 private:
  bool factor(const Linearization& at, bool drop_dependent);
  double project(const Linearization& at, std::size_t column, std::size_t count, double* out) const;
  bool worth_it(const Linearization& at) const;

  std::vector<int> offered_, unbounded_, linear_;  // all; those that may be eliminated; those that are
  VariableProjection wish_ = VariableProjection::off;
  bool decided_ = false, too_few_digits_ = false;
  double dependent_ = 0;
  std::size_t stride_ = 0;
  Vector factor_;         // L of the scaled ΦᵀΦ, by rows
  Vector inverse_scale_;  // 1/‖φ‖
  Vector weights_;
  mutable Vector column_;
};

}  // namespace nlsq::inline v0
