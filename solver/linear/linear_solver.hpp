// Steps from a linearization, in scaled variables: columns of J divided by `scale`, so that one
// damping λ suits parameters of any size.
//
//   (H + λ I) s = -g,   H = D⁻¹ JᵀJ D⁻¹,  g = D⁻¹ Jᵀr,  step = D⁻¹ s
//
// by Cholesky of the normal equations, or, where the linearization carries a triangle, by QR of [R; √λ I].
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/box.hpp"
#include "minimizer/minimizer_step_values.hpp"

#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

struct Parallelism;

class LinearSolver {
 public:
  LinearSolver();
  // `scale`: D, all positive.
  LinearSolver(const Linearization& at, const Vector& scale) : LinearSolver() { set(at, scale); }
  // Where there are many parameters, factors are made by so many threads, to the same bits: by one where
  // nothing is said. It must outlive the solver, or its use.
  void share_out(const Parallelism& threads);
  const Parallelism& threads() const;
  // Another linearization, in the memory of the last one.
  void set(const Linearization& at, std::span<const double> scale);
  // Steps are to stay in room.lower <= step <= room.upper, which holds 0: the minimum of the damped model
  // there, by an active-set method. Until the next set(). With an empty room anywhere.
  void keep_within(const Box& room);
  // H + D⁻¹SD⁻¹ in place of H, S symmetric: steps of another model, which may be indefinite. Until the next
  // set(); before keep_within(). Not where the linearization carries a triangle.
  void add_to_normal(const Matrix& S);
  // λ is weights[j] λ in column j, 0 included. Until the next set(). Empty: the same in all.
  void weigh_damping(std::span<const double> weights);
  ~LinearSolver();
  LinearSolver(LinearSolver&&) noexcept;
  LinearSolver& operator=(LinearSolver&&) noexcept;

  Step solve(double lambda) {
    Step out;
    solve(lambda, out);
    return out;
  }
  void solve(double lambda, Step& out);
  // The step of the last solve, with next to no damping, drawn back along Powell's path to the length
  // `radius` of ‖D step‖, where it is longer. Within bounds that the path would leave, or that hold the step,
  // straight back.
  void draw_back(double radius, Step& step) const;
  // What follows is of the parameters that the last solve did not leave on a bound; the others count as zero.
  // -(H+λI)⁻¹ D⁻¹v, unscaled, with the factor of the last solve.
  void apply_inverse(const Vector& v, Vector& out) const;
  Vector apply_inverse(const Vector& v) const {
    Vector out;
    apply_inverse(v, out);
    return out;
  }
  // ‖L⁻¹D⁻¹v‖ with the factor of the last solve.
  double norm_in_metric(const Vector& v) const;
  // √Σ ‖L⁻¹D⁻¹b‖² over the rows b of B: root mean square of that norm for a random v of covariance BᵀB.
  double rms_in_metric(const Matrix& B) const;
  // ‖(A - B) D⁻¹ L⁻ᵀ‖₂: what a difference of Jacobians does to steps. By power iteration, never too large.
  double largest_in_metric(const Matrix& A, const Matrix& B) const;
  // ‖L⁻¹D⁻¹(BᵀB - AᵀA)s‖ / ν for the last solve's step s: its error where BᵀB stood for AᵀA.
  double contraction(const Matrix& A, const Matrix& B, const Step& step) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Column norms of J: √diag(JᵀJ).
Vector column_norms(const Linearization& at);
void column_norms(const Linearization& at, Vector& out);

}  // namespace nlsq::inline v0
