// Variable projection eliminates the parameters that enter a model linearly, so the cost depends on the
// others alone. DenseSystem uses it.
//
// J = [A | Φ], where Φ holds the columns of the linear parameters. Rows are streamed and only JᵀJ is kept, so
// the projected functional (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973) is not formed. It is not
// needed: in a step of the whole problem in which the linear parameters are not damped, the part of the other
// parameters is Kaufman's step (BIT 15, 1975), which is that of P⊥A with P⊥ = 1 - ΦΦ⁺. Damping must act on
// the columns of P⊥A; their squared lengths are diagonal entries of the Schur complement of ΦᵀΦ. The linear
// parameters stay optimal for the others at every point, or as near as the steps keep them (Ruhe and Wedin,
// SIAM Review 22, 1980).
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/box.hpp"

#include <nlsq/options.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

class Projection {
 public:
  // Sets the parameters that enter linearly together. Bounded ones remain in the problem, as do those whose
  // columns depend on others at the first point. If `wish` is automatic and elimination gains nothing at the
  // first point, all remain.
  void offer(std::span<const int> linear, const Box& box, VariableProjection wish);
  // Repeats the decision at the first point, which is now known in more digits. Must be called before the
  // first step.
  void decide_again();
  // Returns true if parameters are eliminated, or may be once the first point has been examined.
  bool active() const { return !linear_.empty(); }
  // Returns true if `wish` is automatic and the first point had too few digits to decide. Nothing is
  // eliminated then.
  bool needs_f64() const { return needs_f64_; }
  std::span<const int> eliminated() const {
    return decided_ ? std::span<const int>(linear_) : std::span<const int>();
  }

  // Returns the factors for the damping of each column of J at this point: ‖P⊥a‖²/‖a‖², and 0 for eliminated
  // parameters. The result is empty, which means no weights, where Φ does not determine its parameters. Must
  // be called at every point of the iteration.
  std::span<const double> weigh_damping(const Linearization& at);

  // Moves the eliminated parameters of x, the point of `at`, to their optimum for the others. Returns the
  // decrease of the cost, exact up to rounding. Returns 0 and leaves x unchanged where Φ does not determine
  // them.
  double solve(const Linearization& at, Vector& x);

 private:
  bool factor(const Linearization& at, bool drop_dependent);
  double project(const Linearization& at, std::size_t column, std::size_t count, double* out) const;
  bool worth_it(const Linearization& at) const;

  // all offered; those without bounds; those eliminated
  std::vector<int> offered_, unbounded_, linear_;
  VariableProjection wish_ = VariableProjection::off;
  bool decided_ = false, needs_f64_ = false;
  double dependent_ = 0;
  std::size_t stride_ = 0;
  Vector factor_;         // L of the scaled ΦᵀΦ, row by row
  Vector inverse_scale_;  // 1/‖φ‖
  Vector weights_;
  mutable Vector column_;
};

}  // namespace nlsq::inline v0
