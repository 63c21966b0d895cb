// Distinguishes minima, saddles and flat points by second derivatives of the cost, where J alone cannot. The
// checks for lost parameters and for saddles use it.
#pragma once

#include "dense/evaluator.hpp"
#include "minimizer/box.hpp"

#include <optional>
#include <span>
#include <utility>

namespace nlsq::inline v0 {

// Returns true if the second derivatives of the cost, JᵀJ + Σ rᵢ∇²rᵢ, are positive along every direction of
// the parameters that are not in `fixed`, beyond the rounding errors of gradient and cost, and the minimum
// that they predict is x itself. Then x is a local minimum, and the cost determines these parameters although
// J does not. `magnitude` is ‖terms of r‖, to which rounding errors are proportional. Takes two passes for
// each parameter.
bool is_second_order_minimum(Evaluator& evaluator, std::span<const double> x, const Box& room,
                             std::span<const int> fixed, double magnitude);

// Finds a direction along which the second derivatives are negative beyond their errors, so that x is no
// minimum. The direction is scaled so that the quadratic model predicts a cost of 0 at x + direction. Returns
// nothing if there is no such direction. Takes two passes for each parameter, or four where parameters are
// offsets.
std::optional<Vector> descent_from_saddle(Evaluator& evaluator, std::span<const double> x, const Box& room,
                                          std::span<const int> fixed, double magnitude);

// Does the same for directions in which only the parameters `some` change. Takes at most `passes` + 1 passes.
std::optional<Vector> descent_of_some(Evaluator& evaluator, std::span<const double> x, const Box& room,
                                      std::span<const std::size_t> some, std::size_t passes);

// Tries steps along a direction of negative curvature, to both sides: first of its own length, then nineteen
// more, each half as long as the one before. Returns the step to the lowest cost if that cost is below
// `enough`, else an empty step. `cost_at(step)` returns the cost at the end of a step.
template <class CostAt>
Vector lowest_along(const Vector& along, double enough, CostAt cost_at) {
  constexpr int kLengths = 20;
  Vector lowest;
  for (const double way : {1.0, -1.0}) {
    double length = way;
    for (int k = 0; k < kLengths; ++k, length *= 0.5) {
      Vector step = along;
      for (double& s : step) s *= length;
      const double cost = cost_at(step);
      if (!(cost < enough)) continue;
      enough = cost;
      lowest = std::move(step);
    }
  }
  return lowest;
}

}  // namespace nlsq::inline v0
