// Tools for second derivatives of the cost: a search for a direction in which the cost curves down, the
// eigenvalues of a scaled matrix, and the lengths of shifts for differences. The checks for saddles use them,
// for blocks and for curves.
#pragma once

#include "minimizer/minimizer_step_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// A curvature below minus this share of the largest one counts as negative.
inline constexpr double kNegativeCurvature = 1e-4;

struct NegativeCurvature {
  double value = 0;           // the form along the direction: below 0, or 0 if none was found
  std::vector<double> along;  // of length 1; empty if none was found
};
// Computes a product of the matrix and v. Returns false if it cannot.
using CurvatureProduct = std::function<bool(std::span<const double> v, std::span<double> product)>;

// Finds a direction in which a quadratic form is negative, if its matrix is known by its products alone.
// `n`: order of the matrix, which is symmetric up to errors of its products. Takes at most `most` products. A
// value above -kNegativeCurvature times the largest eigenvalue counts as 0.
NegativeCurvature negative_curvature(std::size_t n, std::size_t most, const CurvatureProduct& times);

// Eigenvalues of a matrix of second derivatives whose unknowns may have very different sizes.
struct ScaledSpectrum {
  Vector scale;    // by which row i and column i were divided
  Vector values;   // eigenvalues of the scaled matrix
  Vector vectors;  // its eigenvectors, by columns
};

// Scales G (n x n, by columns, symmetric up to rounding) to a diagonal of 1 or -1. `norms`: the lengths of
// the columns of J, for the size of an unknown whose second derivative is zero. Returns false if an entry is
// not finite.
bool scaled_spectrum(std::span<const double> G, std::span<const double> norms, ScaledSpectrum& out);

// Second derivatives of the cost come from differences of its gradient. Each parameter is shifted by this
// part of its shift_length(), so that the errors by third derivatives and by rounding are about equal.
inline constexpr double kCurvatureShift = 0x1p-17;

// What shifts are proportional to: the sizes of the parameters, or the changes that would undo the residuals.
// With an offset in the parameters, such as a date or 10⁶ metres, the sizes say nothing of how far the
// curvature holds. Where residuals nearly vanish, their changes say nothing.
enum class ShiftBy : std::uint8_t { size, residual };

// `size` and `norm`: of a parameter and of its column of J.
inline double shift_length(double size, double norm, double cost, ShiftBy by) {
  // A parameter that is smaller than this share of the other length has no size of its own. It is 0, or 0 but
  // for rounding and for the errors of differences.
  constexpr double kZero = 1e-6;
  constexpr double kLeast = 0x1p-19;  // of the size: shorter shifts drown in the rounding of x
  const double undo = std::sqrt(2 * cost) / norm, other = std::min(1.0, undo);
  if (!(size > kZero * other)) return other;
  return by == ShiftBy::size ? size : std::clamp(undo, kLeast * size, std::max(size, 1.0));
}

// Returns whether a shift by the size of the parameter changes the residuals by more than these are.
// `length`: its shift_length() by size.
inline bool is_offset(double length, double norm, double cost) {
  return kCurvatureShift * length * norm > std::sqrt(2 * cost);
}

}  // namespace nlsq::inline v0
