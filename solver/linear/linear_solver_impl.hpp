// Declares the implementation of LinearSolver: the system in scaled variables, and its reduction by bounds
// (linear_solver_bounds.cpp).
#pragma once

#include "linear/linear_solver.hpp"

#include <Eigen/Core>

#include <vector>

namespace nlsq::inline v0 {

using DenseMatrix = Eigen::MatrixXd;
using DenseVector = Eigen::VectorXd;

struct ScaledSystem {
  DenseVector inverse_scale;  // 1/D
  DenseMatrix H;              // scaled normal matrix
  DenseVector g;              // scaled gradient
  DenseMatrix R;              // scaled triangle, QR only
  DenseVector z;              // Qᵀr, QR only
};

struct LinearSolver::Impl : ScaledSystem {
  const Parallelism* threads = nullptr;
  DenseMatrix L;               // lower triangle, from the last solve
  DenseVector inverse_pivots;  // 1 / L_jj, for small systems
  DenseMatrix A;               // H + λI; scratch
  DenseVector s;               // the step, scaled; scratch
  DenseVector weights;         // of λ; empty if all are 1

  std::size_t size() const { return static_cast<std::size_t>(g.size()); }
  bool small() const;
  const Parallelism& threads_for_wide() const;  // one thread if there are few parameters
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

  // Bounds (linear_solver_bounds.cpp). While some parameters are fixed on bounds, this system is that of the
  // free ones. A fixed parameter has a row and column of the identity and inverse_scale 0.
  bool room_given = false, reduced = false;
  std::vector<Held> on;      // the active set
  DenseVector lower, upper;  // of the step, unscaled
  ScaledSystem whole;        // the full system while this one is reduced
  // gradient of the damped model at s for all parameters, and its rounding error
  DenseVector slope, rounding;
  DenseVector path;

  enum class Search : unsigned char { found, cycles, singular };
  bool search(double lambda, Step& out);
  Search guess_set(double lambda, Step& out);
  Search descend(double lambda, Step& out);
  bool solve_free(double lambda, Step& out);
  void start_set();
  void reduce();
  void find_slopes(double lambda);
  double limit(Eigen::Index j, Held side) const;  // bound of the scaled step
  Held beyond(Eigen::Index j) const;
  bool pulls_away(Eigen::Index j) const;
  void end_on_bounds(double lambda, Step& out) const;
  double curvature(const DenseVector& v) const;  // vᵀHv over all parameters
  bool within_room(const DenseVector& v) const;  // v is a scaled step
  const ScaledSystem& all() const { return reduced ? whole : *this; }
};

}  // namespace nlsq::inline v0
