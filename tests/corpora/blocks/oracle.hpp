// What an answer to a block problem is worth, in long double: how much cost is still to be gained from it,
// how far it is from the minimum, and what rank the Jacobian has there. It shares nothing with the library
// but the functors.
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
  Real cost = 0;               // at the answer
  Real lowest = 0;             // that was reached from there
  Real sigma = 0;              // √(2 lowest / (m - n)), at least 1e-8 of the scene's scale
  Real allowed = 0;            // a gain that is none: ½ (0.1 σ)² and what rounding to f64 hides
  Real distance = 0;           // ν₀ / σ, to the minimum of the linear model
  int directions = 0;          // numbers to be found, in tangent numbers, those at their bounds left out
  int rank = 0;                // of the column-scaled Jacobian, singular values above 1e-15 of the largest
  std::vector<Real> singular;  // its singular values, the largest first, as shares of it
  std::vector<Real>
      visible;  // the same of the columns that f64 sees: ‖J_j‖ |x_j| above the rounding of the residuals
  Real gain() const { return cost - lowest; }
  Real gain_in_errors() const;  // √(2 gain) / σ
  bool at_minimum() const { return finite && gain() <= allowed; }
};

class Oracle {
 public:
  explicit Oracle(const Scene& scene) : scene_(scene) {}
  // x: all numbers of the scene. `thorough`: the lowest cost is looked for even where the first look settles
  // the question.
  Judgement judge(std::span<const double> x, bool thorough = false) const;
  Real cost(std::span<const double> x) const;

 private:
  using Point = std::vector<Real>;
  // First order at a point: corrected residuals and Jacobian (Triggs), whose product is the gradient.
  struct Linear {
    bool finite = false;
    Real cost = 0;
    Vector r;
    Matrix J;
    std::vector<int> columns;  // tangent numbers that are free, of all
  };
  Real cost_at(const Point& x) const;
  Linear linearize(const Point& x) const;
  Matrix tangent_basis(const Block& block, const Point& x) const;
  Point moved(const Point& x, const Linear& at, const Vector& step) const;
  Real rounding(std::span<const double> x, const Linear& at) const;
  // |x| of each tangent number: what moving a number by its own size means. 1 on manifolds.
  std::vector<Real> sizes(std::span<const double> x) const;
  Point polish(Point x, Real lambda, Real stop) const;
  // A step of the damped linear problem: columns scaled, QR.
  Vector damped_step(const Linear& at, Real lambda) const;
  int tangent_size() const;

  const Scene& scene_;
};

}  // namespace blocks
