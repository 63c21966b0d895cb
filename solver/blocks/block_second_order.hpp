// The cost's own second derivatives, by differences of its gradient: for few unknowns, where JᵀJ promises
// what the cost does not keep. Residuals stay large there, or J is singular at the minimum, as it is wherever
// as many residuals as unknowns cannot all vanish.
#pragma once

#include "blocks/block_distance.hpp"

#include <functional>

namespace nlsq::inline v0 {

constexpr std::size_t kMostSecondOrder = 32;  // unknowns, for steps
constexpr std::size_t kMostExamined = 64;     // and for a look at the end

// J and the gradient at a point within reach, in f64; false where they are not finite. The numbers that the
// last call left in the solver are read.
using GradientAt = std::function<bool(std::span<const double> x)>;

struct SecondOrder {
  bool known = false;
  bool definite = false;            // positive: a minimum, not a saddle
  double decrement = 0;             // √(gᵀ G⁻¹ g)
  double least = 0;                 // eigenvalue, as a share of the largest, G scaled to a unit diagonal
  std::vector<double> along_least;  // its direction: a step along which the model changes by ½ |least|
  std::vector<double> step;  // -G⁻¹ g; where G is not definite, one that goes down along all its directions
};

// J must be known at `at` when this begins; when it ends the solver holds another point's.
SecondOrder second_order(const BlockPoint& at, const GradientAt& gradient_at);

}  // namespace nlsq::inline v0
