// The cost's own second derivatives, by differences of its gradient: for few unknowns, where JᵀJ promises what the cost does
// not keep. Residuals stay large there, or J is singular at the minimum, as it is wherever as many residuals as unknowns
// cannot all vanish.
#pragma once

#include "block_distance.hpp"

#include <functional>

namespace nlsq::inline v0 {

constexpr std::size_t kMostSecondOrder = 32;  // unknowns

// J and the gradient at a point within reach, in f64; false where they are not finite. The numbers that the last call left
// in the solver are read.
using GradientAt = std::function<bool(std::span<const double> x)>;

struct SecondOrder {
  bool known = false;
  bool definite = false;      // positive: a minimum, not a saddle
  double decrement = 0;       // √(gᵀ G⁻¹ g)
  std::vector<double> step;   // -G⁻¹ g; where G is not definite, one that goes down along all its directions
};

// J must be known at `at` when this begins; when it ends the solver holds another point's.
SecondOrder second_order(const BlockPoint& at, const GradientAt& gradient_at);

}  // namespace nlsq::inline v0
