// Inside a LinearSolver: the system in scaled variables, and what bounds make of it
// (linear_solver_bounds.cpp).
#pragma once

#include "linear/linear_solver.hpp"

#include <Eigen/Core>

#include <vector>

namespace nlsq::inline v0 {

using DenseMatrix = Eigen::MatrixXd;
using DenseVector = Eigen::VectorXd;

struct LinearSolver::Impl {
  const Parallelism* threads = nullptr;
  DenseVector inverse_scale;   // 1/D
  DenseMatrix H;               // scaled normal matrix
  DenseVector g;               // scaled gradient
  DenseMatrix R;               // scaled triangle, QR only
  DenseVector z;               // Qᵀr, QR only
  DenseMatrix L;               // of the last solve, lower
  DenseVector inverse_pivots;  // 1 / L_jj, where it is small
  DenseMatrix A;               // H + λI; scratch
  DenseVector s;               // the step, scaled; scratch
  DenseVector weights;         // of λ; empty: 1

  std::size_t size() const { return static_cast<std::size_t>(g.size()); }
  bool small() const;
  const Parallelism& threads_for_wide() const;  // one where parameters are few
  double damping(Eigen::Index j, double lambda) const {
    return weights.size() == 0 ? lambda : lambda * weights[j];
  }
  double damping_energy(double lambda) const;
  void solve_lower(double* v) const;
  void solve_lower_transposed(double* v) const;
  bool solve_normal(double lambda, Step& out);
  bool solve_triangle(double lambda, Step& out);
  bool solve_wide_triangle(double lambda, Step& out);
  double damping_row(Eigen::Index j, double lambda) const;
  bool solve_system(double lambda, Step& out);

  // Bounds (linear_solver_bounds.cpp). While some parameters lie on one, the system above is that of the
  // others, with an identity in their place, and inverse_scale is 0 for them.
  bool room_given = false, reduced = false;
  std::vector<Held> on;          // the working set
  DenseVector lower, upper;      // of the step, unscaled
  DenseMatrix whole_H, whole_R;  // of all parameters, while the system is a reduced one
  DenseVector whole_inverse_scale, whole_g, whole_z;
  DenseVector slope, rounding;  // of the damped model at s, in every direction; what is rounding of it
  DenseVector path;

  enum class Search : unsigned char { found, cycles, singular };
  bool search(double lambda, Step& out);
  Search guess_set(double lambda, Step& out);
  Search descend(double lambda, Step& out);
  bool solve_free(double lambda, Step& out);
  void start_set();
  void reduce();
  void find_slopes(double lambda);
  double limit(Eigen::Index j, Held side) const;  // of the scaled step
  Held beyond(Eigen::Index j) const;
  bool pulls_away(Eigen::Index j) const;
  void end_on_bounds(double lambda, Step& out) const;
  double curvature(const DenseVector& v) const;  // vᵀHv, of all parameters
  bool within_room(const DenseVector& v) const;  // a scaled step
  const DenseMatrix& all_H() const { return reduced ? whole_H : H; }
  const DenseVector& all_g() const { return reduced ? whole_g : g; }
};

}  // namespace nlsq::inline v0
