// Declares an oracle that shares only the parsed formula with the solver. It runs the formula's steps on dual
// numbers in long double (64-bit significand), and solves least-squares problems by Householder QR in long
// double.
#pragma once

#include "problem.hpp"

#include <vector>

namespace problems {

// Holds the distance of a point from the minimum of the linear model there, in long double.
struct Distance {
  double cost = 0;           // ½‖r‖²
  double decrement = 0;      // ν₀ = ‖L⁻¹g‖
  double sigma = 0;          // √(2F/(m - n))
  double relative_step = 0;  // ‖D s‖ / ‖D p‖
  double cosine = 0;         // largest |g_j| / (‖J_j‖ ‖r‖)
  double magnitude = 0;      // ‖terms of r‖
  double condition = 0;      // κ₀ of the scaled normal matrix; infinite if it is singular in f64
  int rank = 0;
  double next_singular = 0;  // the first singular value that `rank` leaves out, as a fraction of the largest
  bool beyond_f64 = false;   // a column of J, or its squares, is too small for f64
  bool finite = false;
  double in_standard_errors() const { return sigma > 0 ? decrement / sigma : (decrement > 0 ? 1e300 : 0); }
};

class Reference {
 public:
  // `problem` is used as it is; repeating rows only changes the scale.
  explicit Reference(const Problem& problem);
  // Returns false if the formula uses a function that long double does not have (Bessel, Faddeeva, ...).
  bool available() const { return available_; }

  // Parameters are in the order of the formula. `rank` is the number of directions of the subspace used; 0
  // stands for all that double precision can separate.
  Distance distance(const std::vector<double>& p, int rank = 0) const;
  // Holds the lowest cost that damped steps in long double reach from p, and its position.
  struct Minimum {
    std::vector<double> p;
    double cost = 0;
    bool converged = false;
  };
  Minimum minimise(const std::vector<double>& p, int max_iterations = 60) const;
  std::vector<double> start() const;  // p0, in the order of the formula

 private:
  const Problem& problem_;
  nlsq::Formula formula_;
  bool available_ = true;
};

}  // namespace problems
