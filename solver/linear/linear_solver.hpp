// LinearSolver computes steps from a linearization, in scaled variables. Columns of J are divided by `scale`,
// so that one damping λ is right for parameters of any size. DenseSystem and the certificate use it.
//
//   (H + λ I) s = -g,   H = D⁻¹ JᵀJ D⁻¹,  g = D⁻¹ Jᵀr,  step = D⁻¹ s
//
// It factors the normal equations by Cholesky or, where the linearization has a triangle, [R; √λ I] by QR.
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/box.hpp"
#include "minimizer/minimizer_step_values.hpp"

#include <memory>
#include <span>

namespace nlsq::inline v0 {

struct Parallelism;

class LinearSolver {
 public:
  LinearSolver();
  // `scale` is D, all positive.
  LinearSolver(const Linearization& at, const Vector& scale) : LinearSolver() { set(at, scale); }
  // Makes the factors on this many threads if there are many parameters, with the same bits as on one thread.
  // The default is one thread. `threads` must outlive its use.
  void share_out(const Parallelism& threads);
  const Parallelism& threads() const;
  // Sets another linearization, and reuses the memory of the last one.
  void set(const Linearization& at, std::span<const double> scale);
  // Restricts steps to room.lower <= step <= room.upper, which contains 0, until the next set(). An
  // active-set method finds the minimum of the damped model there. An empty room means no bounds.
  void keep_within(const Box& room);
  // Replaces H by H + D⁻¹SD⁻¹ until the next set(), for a symmetric S. The matrix may become indefinite. Must
  // be called before keep_within(). Not allowed if the linearization has a triangle.
  void add_to_normal(const Matrix& S);
  // Damps column j by weights[j] λ until the next set(). Weights may be 0. With an empty span, all are damped
  // alike.
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
  // Shortens the step of the last solve to ‖D step‖ = `radius` if it is longer. That solve must have had
  // almost no damping. The function follows Powell's dogleg path. If that path would leave the bounds, or the
  // step ends on bounds, it scales the step instead.
  void shorten_to_radius(double radius, Step& step) const;
  // The functions below concern the parameters that the last solve did not leave on a bound; the others count
  // as zero.
  // Computes out = -(H+λI)⁻¹ D⁻¹v, unscaled, with the factor of the last solve.
  void apply_inverse(const Vector& v, Vector& out) const;
  Vector apply_inverse(const Vector& v) const {
    Vector out;
    apply_inverse(v, out);
    return out;
  }
  // Returns ‖L⁻¹D⁻¹v‖ with the factor of the last solve.
  double norm_in_metric(const Vector& v) const;
  // Returns √Σ ‖L⁻¹D⁻¹b‖² over the rows b of B: the root mean square of that norm for a random v of
  // covariance BᵀB.
  double rms_in_metric(const Matrix& B) const;
  // Returns ‖(A - B) D⁻¹ L⁻ᵀ‖₂, the effect of a difference of Jacobians on steps. It comes from power
  // iteration, so it is never too large.
  double largest_in_metric(const Matrix& A, const Matrix& B) const;
  // Returns ‖L⁻¹D⁻¹(BᵀB - AᵀA)s‖ / ν: the error of the last solve's step s if BᵀB replaced AᵀA.
  double contraction(const Matrix& A, const Matrix& B, const Step& step) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Computes the column norms of J: √diag(JᵀJ).
Vector column_norms(const Linearization& at);
void column_norms(const Linearization& at, Vector& out);

}  // namespace nlsq::inline v0
