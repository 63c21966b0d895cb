// Second derivatives of the cost by differences of its gradient. They are used for few unknowns where the
// cost does not fall as JᵀJ predicts, because residuals are large or J is singular at the minimum. With as
// many residuals as unknowns, J is singular at every minimum where not all residuals vanish.
#pragma once

#include "blocks/certificate/block_distance.hpp"
#include "linear/negative_curvature.hpp"

#include <cstdint>
#include <functional>

namespace nlsq::inline v0 {

constexpr std::size_t kMostSecondOrder = 32;  // unknowns, for steps
constexpr std::size_t kMostExamined = 64;     // and for the check at the end
// An eigenvalue below this share of the largest one counts as 0.
constexpr double kLeastCurvature = 1e-9;

// Computes the gradient at a nearby point in f64, over tangent coordinates there. Returns false if it is not
// finite.
using GradientAt = std::function<bool(std::span<const double> x, std::vector<double>& gradient)>;

struct SecondOrder {
  bool known = false;
  bool definite = false;            // positive definite: a minimum, not a saddle
  double decrement = 0;             // √(gᵀ G⁻¹ g)
  std::vector<double> curvature;    // diagonal of G, by tangent coordinate; 0 for a fixed one
  double least = 0;                 // least eigenvalue over the largest, with G scaled to a unit diagonal
  std::vector<double> along_least;  // its eigenvector: the model changes by ½ |least| along it
  std::vector<double> step;  // -G⁻¹ g; if G is not definite, a step that descends along all its eigenvectors
};

// Returns true if shifts by size are longer than the changes that would compensate the residuals, for some
// unknown.
bool sizes_are_offsets(const BlockPoint& at);

// Selects whether all members are computed, or only the sign of the curvature. Where every curvature is
// clearly positive, its sign takes half the evaluations, and only `known` and `definite` are set.
enum class CurvatureWanted : std::uint8_t { all, sign };

// Computes the second derivatives. Requires J at `at`.
SecondOrder second_order(const BlockPoint& at, const GradientAt& gradient_at, ShiftBy by,
                         CurvatureWanted wanted);

// Tests whether JᵀJ alone is the cost's curvature H, up to a small difference. If it returns true, it is very
// unlikely that H, with columns of J scaled to unit length, has an eigenvalue below -limit. If it returns
// false, nothing is known. The test evaluates the gradient one to twelve times, and a few times more where
// sizes are offsets. It is cheaper than second_order(), which evaluates the gradient once or twice for each
// unknown. Requires J at `at`.
bool curves_like_normal(const BlockPoint& at, const GradientAt& gradient_at, double limit);

// Looks for a direction in which the cost curves down among the unknowns whose slope is exactly 0. Symmetry
// can keep it 0: all points of a network that start in a plane remain in it. If the search finds such a
// direction, it sets `known`, `least` and `along_least`. If it does not, or cannot search, `known` is false.
// The search takes at most 20 evaluations of the gradient, and none where no slope is 0. Requires J at `at`.
SecondOrder curvature_where_level(const BlockPoint& at, const GradientAt& gradient_at, ShiftBy by);

}  // namespace nlsq::inline v0
