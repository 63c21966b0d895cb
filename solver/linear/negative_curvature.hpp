// Declares functions for second derivatives of the cost: a search for a direction in which the cost curves
// down, the eigenvalues of a scaled matrix, and the lengths of shifts for differences. The checks for saddles
// use them, for blocks and for curves.
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

// Finds a direction in which a quadratic form is negative, if its matrix is known by its products alone. `n`
// is the order of the matrix, which is symmetric up to errors of its products. Takes at most `most` products.
// A value above -kNegativeCurvature times the largest eigenvalue counts as 0.
NegativeCurvature negative_curvature(std::size_t n, std::size_t most, const CurvatureProduct& times);

// Eigenvalues of a matrix of second derivatives whose unknowns may have very different sizes.
struct ScaledSpectrum {
  Vector scale;    // the divisors of rows and columns
  Vector values;   // eigenvalues of the scaled matrix
  Vector vectors;  // its eigenvectors, by columns
};

// Scales G (n x n, by columns, symmetric up to rounding) to a diagonal of 1 or -1. `norms` are the lengths of
// the columns of J, which may be 0. They give the size of an unknown whose second derivative is far smaller
// than in JᵀJ; its diagonal entry is then between -1 and 1. Returns false if an entry is not finite.
bool scaled_spectrum(std::span<const double> G, std::span<const double> norms, ScaledSpectrum& out);

// Second derivatives of the cost come from differences of its gradient. Each parameter is shifted by this
// part of its shift_length(), so that the errors by third derivatives and by rounding are about equal.
inline constexpr double kCurvatureShift = 0x1p-17;

// Shifts are proportional either to the sizes of the parameters, or to the changes of parameters that would
// compensate the residuals. If the parameters have an offset, such as a date or 10⁶ metres, the curvature may
// change over a distance far shorter than their sizes. Where residuals nearly vanish, the changes that
// compensate them are too short to be useful.
enum class ShiftBy : std::uint8_t { size, residual };

// Returns the length to which the shift of a parameter is proportional. `size` and `norm` are those of the
// parameter and of its column of J.
inline double shift_length(double size, double norm, double cost, ShiftBy by) {
  // A parameter whose size is less than this share of the other length counts as 0: it is 0 but for rounding
  // and for the errors of differences.
  constexpr double kZero = 1e-6;
  constexpr double kLeast = 0x1p-19;  // of the size: with shorter shifts, the rounding of x dominates
  const double undo = std::sqrt(2 * cost) / norm, other = std::min(1.0, undo);
  if (!(size > kZero * other)) return other;
  return by == ShiftBy::size ? size : std::clamp(undo, kLeast * size, std::max(size, 1.0));
}

// Returns true if a shift by the size of the parameter changes the residuals by more than the residuals
// themselves. `length` is the parameter's shift_length() by size.
inline bool is_offset(double length, double norm, double cost) {
  return kCurvatureShift * length * norm > std::sqrt(2 * cost);
}

}  // namespace nlsq::inline v0
