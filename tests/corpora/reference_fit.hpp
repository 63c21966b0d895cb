// An oracle that shares nothing with the solver but the formula as parsed: the steps run on dual numbers
// in long double (64-bit significand), the least-squares problems by Householder QR in long double.
#pragma once

#include "problem.hpp"

#include <vector>

namespace problems {

// How far a point is from the minimum of the linear model there, in long double.
struct Distance {
  double cost = 0;           // ½‖r‖²
  double decrement = 0;      // ν₀ = ‖L⁻¹g‖
  double sigma = 0;          // √(2F/(m - n))
  double relative_step = 0;  // ‖D s‖ / ‖D p‖
  double cosine = 0;         // largest |g_j| / (‖J_j‖ ‖r‖)
  double magnitude = 0;      // ‖terms of r‖
  double condition = 0;      // κ₀ of the scaled normal matrix; infinite where it is singular to f64
  int rank = 0;
  double next_singular = 0;  // singular value that `rank` leaves out, as a share of the largest
  bool beyond_f64 = false;   // a column of J is too small for f64, or its squares are
  bool finite = false;
  double in_standard_errors() const { return sigma > 0 ? decrement / sigma : (decrement > 0 ? 1e300 : 0); }
};

class Reference {
 public:
  // Rows of `problem` as they are; repeated rows change nothing but the scale.
  explicit Reference(const Problem& problem);
  // False where a formula uses a function that long double does not have (Bessel, Faddeeva, ...).
  bool available() const { return available_; }

  // Parameters in the formula's order. `rank`: on the subspace of so many directions only; 0: of all that
  // double precision can tell apart.
  Distance distance(const std::vector<double>& p, int rank = 0) const;
  // The lowest cost that damped steps in long double reach from p, and where.
  struct Minimum {
    std::vector<double> p;
    double cost = 0;
    bool converged = false;
  };
  Minimum minimise(const std::vector<double>& p, int max_iterations = 60) const;
  std::vector<double> start() const;  // p0, by the formula's order

 private:
  const Problem& problem_;
  nlsq::Formula formula_;
  bool available_ = true;
};

}  // namespace problems
