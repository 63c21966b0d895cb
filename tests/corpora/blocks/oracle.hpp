// Judges an answer to a block problem in long double: how far its cost is above the minimum, how far the
// minimum is, and the rank of the Jacobian there. It shares only the functors with the library.
#pragma once

#include "scene.hpp"

#include <Eigen/Core>

#include <span>
#include <string>
#include <vector>

namespace blocks {

using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;

struct Judgement {
  bool finite = false;
  Real cost = 0;       // cost of the answer
  Real lowest = 0;     // lowest cost reached from there
  Real sigma = 0;      // √(2 lowest / (m - n)), at least 1e-8 of the scene's scale
  Real allowed = 0;    // largest excess cost of a minimum: ½ (0.1 σ)² and what rounding to f64 hides
  Real distance = 0;   // ν₀ / σ: distance to the minimum of the linear model
  int directions = 0;  // tangent dimension of the unknowns, without those at active bounds
  int rank = 0;        // of the column-scaled Jacobian: singular values above 1e-15 of the largest
  std::vector<Real> singular;  // its singular values, largest first, relative to the largest
  std::vector<Real>
      visible;  // the same for the columns that f64 resolves: ‖J_j‖ |x_j| above the rounding of the residuals
  Real gain() const { return cost - lowest; }
  Real gain_in_errors() const;  // √(2 gain) / σ
  bool at_minimum() const { return finite && gain() <= allowed; }
};

class Oracle {
 public:
  explicit Oracle(const Scene& scene) : scene_(scene) {}
  // Judges the answer x, which lists all numbers of the scene. If `thorough`, it searches for the lowest cost
  // even if the first test already decides.
  Judgement judge(std::span<const double> x, bool thorough = false) const;
  Real cost(std::span<const double> x) const;

 private:
  using Point = std::vector<Real>;
  // Holds the first-order model at a point: corrected residuals and Jacobian (Triggs), whose product is the
  // gradient.
  struct Linear {
    bool finite = false;
    Real cost = 0;
    Vector r;
    Matrix J;
    std::vector<int> columns;  // the tangent coordinates that are free
  };
  Real cost_at(const Point& x) const;
  Linear linearize(const Point& x) const;
  Matrix tangent_basis(const Block& block, const Point& x) const;
  Point moved(const Point& x, const Linear& at, const Vector& step) const;
  // Returns true if the cost rises on the way along the step.
  bool rises(const Point& x, const Linear& at, const Vector& step, Real noise) const;
  Real rounding(std::span<const double> x, const Linear& at) const;
  // Returns |x| for each tangent coordinate, to which rounding is relative; it is 1 on manifolds.
  std::vector<Real> sizes(std::span<const double> x) const;
  Point polish(Point x, Real lambda, Real stop) const;
  // Returns a step of the damped linear problem with scaled columns, by QR.
  Vector damped_step(const Linear& at, Real lambda) const;
  int tangent_size() const;

  const Scene& scene_;
};

}  // namespace blocks
